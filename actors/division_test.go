package actors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
)

// TestDividedPassesCostNoByte: sequences run in one pass and in two at once, on all threads and on half of them, and have the bytes of running alone.
func TestDividedPassesCostNoByte(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 2)
	c := housetest.Config(b)
	c.StopIDs = nil
	requests := func() (all []*intake.Request) {
		for i, prompt := range prompts(256) {
			for depth := range 2 {
				r := housetest.Request(prompt, 400)
				r.Sampling.Temperature, r.Sampling.Seed, r.Depth = float64(i%2), uint64(i), 2*depth
				all = append(all, r)
			}
		}
		return all
	}
	one := housetest.Config(housetest.Open(t, tinyPack(t), 1)) // one thread cannot be divided
	one.StopIDs = nil
	whole, alone := housetest.Start(t, one), housetest.Start(t, c)
	var want []housetest.Answer
	for _, r := range requests() {
		want = append(want, housetest.Run(t.Context(), whole, r, nil))
	}
	if n := whole.Status().Passes; n.Half != 0 {
		t.Errorf("one thread: got %+v passes, want none on half of it", n)
	}
	for i, r := range requests() {
		if d := cmp.Diff(want[i].Tokens, housetest.Run(t.Context(), alone, r, nil).Tokens); d != "" {
			t.Errorf("request %d: bytes differ alone (-one thread +two):\n%s", i, d)
		}
	}
	if n := alone.Status().Passes; n.Half < 8 || n.Whole < 8 {
		t.Errorf("one request at a time: got %+v passes, want both ways tried", n)
	}
	together := housetest.Start(t, c)
	for i, a := range runAll(t, together, requests(), nil) {
		if a.Err != nil || want[i].Err != nil {
			t.Fatal(a.Err, want[i].Err)
		}
		if d := cmp.Diff(want[i].Tokens, a.Tokens); d != "" {
			t.Errorf("request %d: bytes differ beside others (-alone +together):\n%s", i, d)
		}
	}
	t.Logf("together: %+v passes", together.Status().Passes)
	if n := together.Status().Passes; n.Half < 8 || n.Whole < 20 {
		t.Errorf("six requests at once: got %+v passes, want both ways tried", n)
	}
}

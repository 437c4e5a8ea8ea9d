package actors_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
)

// TestDividedPassesCostNoByte: several sequences run in one pass and in two at once, and have the bytes of running alone; a single one has the whole
// machine.
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
	alone := housetest.Start(t, c)
	var want []housetest.Answer
	for _, r := range requests() {
		want = append(want, housetest.Run(t.Context(), alone, r, nil))
	}
	if n := alone.Status().Passes; n.Half != 0 || n.Whole == 0 {
		t.Errorf("one request at a time: got %+v passes, want none on half of the threads", n)
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

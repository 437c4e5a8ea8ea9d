package load_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/bench/load"
)

func TestParseLaw(t *testing.T) {
	for s, want := range map[string]load.Law{
		"512":                    load.Fixed(512),
		"fixed:7":                load.Fixed(7),
		"uniform:64-512":         {Kind: "uniform", Low: 64, High: 512},
		"lognormal:256,0.5,2048": {Kind: "lognormal", Low: 1, High: 2048, Median: 256, Sigma: 0.5},
		"uniform:3-3":            {Kind: "uniform", Low: 3, High: 3},
		"lognormal:1.5,0,2":      {Kind: "lognormal", Low: 1, High: 2, Median: 1.5},
	} {
		got, err := load.ParseLaw(s)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", s, got, err, want)
		}
		if again, err := load.ParseLaw(got.String()); err != nil || again != got {
			t.Errorf("%s: String gives %q, which reads as %+v, %v", s, got, again, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "x", "uniform:5", "uniform:5-4", "uniform:0-4", "lognormal:256", "lognormal:0,1,9",
		"lognormal:256,NaN,512", "lognormal:256,-1,512", "lognormal:256,1,128", "pareto:1", "lognormal:NaN,1,5"} {
		if l, err := load.ParseLaw(s); err == nil {
			t.Errorf("%q: read as %+v, want an error", s, l)
		}
	}
}

func TestDraw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 20000
	uniform, _ := load.ParseLaw("uniform:10-20")
	seen := map[int]int{}
	for range n {
		seen[uniform.Draw(r)]++
	}
	for v := 10; v <= 20; v++ {
		if share := float64(seen[v]) / n; math.Abs(share-1./11) > 0.01 {
			t.Errorf("uniform: %d came with share %.3f, want %.3f", v, share, 1./11)
		}
	}
	if len(seen) != 11 {
		t.Errorf("uniform: got %d values, want 11", len(seen))
	}
	law, _ := load.ParseLaw("lognormal:256,0.5,400")
	below, cut := 0, 0
	for range n {
		x := law.Draw(r)
		if x < 1 || x > 400 {
			t.Fatalf("lognormal: got %d, want 1 to 400", x)
		}
		if x <= 256 {
			below++
		}
		if x == 400 {
			cut++
		}
	}
	if share := float64(below) / n; math.Abs(share-0.5) > 0.02 {
		t.Errorf("lognormal: share %.3f up to the median, want 0.5", share)
	}
	// P(x > 400) = P(z > ln(400/256)/0.5 = 0.893) = 0.186
	if share := float64(cut) / n; math.Abs(share-0.186) > 0.02 {
		t.Errorf("lognormal: share %.3f cut, want 0.186", share)
	}
}

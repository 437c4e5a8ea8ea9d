package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLanes spells the lane rule out and compares bits.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 100 {
		a, b := values(rng, n, false), values(rng, n, false)
		rule := func(step func(acc float32, i int) float32) float32 {
			lanes := make([]float32, 16)
			for i := range n {
				lanes[i%16] = step(lanes[i%16], i)
			}
			for w := 8; w > 0; w /= 2 {
				for l := range w {
					lanes[l] += lanes[l+w]
				}
			}
			return lanes[0]
		}
		for _, c := range []struct {
			name      string
			got, want float32
		}{
			{"laneSum", laneSum(a), rule(func(s float32, i int) float32 { return s + a[i] })},
			{"laneSquares", laneSquares(simdNone, a), rule(func(s float32, i int) float32 { return s + float32(a[i]*a[i]) })},
			{"laneDot", laneDot(simdNone, a, b), rule(func(s float32, i int) float32 { return s + float32(a[i]*b[i]) })},
			{"laneDotFused", laneDotFused(simdNone, a, b), rule(func(s float32, i int) float32 { return fma32(a[i], b[i], s) })},
		} {
			if math.Float32bits(c.got) != math.Float32bits(c.want) {
				t.Errorf("%s of %d elements: got %g, want %g", c.name, n, c.got, c.want)
			}
		}
	}
}

func TestSoftplus(t *testing.T) {
	worst, at := 0.0, float32(0)
	for x := float32(-86); x <= 20; x += 0.00371 {
		want := math.Log1p(math.Exp(float64(x)))
		if d := math.Abs(float64(softplus(x))-want) / want; d > worst || d != d {
			worst, at = d, x
		}
	}
	t.Logf("worst relative error %.3g at %g", worst, at)
	if !(worst < 2e-7) {
		t.Errorf("softplus(%g): relative error %g, want below 2e-7 (an exponential of 1.15 ulp and one rounding)", at, worst)
	}
	for _, c := range []struct{ x, want float32 }{{20.5, 20.5}, {1e30, 1e30}, {float32(math.Inf(1)), float32(math.Inf(1))}, {float32(math.Inf(-1)), 0}, {-200, 0}} {
		if got := softplus(c.x); got != c.want {
			t.Errorf("softplus(%g): got %g, want %g", c.x, got, c.want)
		}
	}
	if got := softplus(float32(math.NaN())); got == got {
		t.Errorf("softplus(NaN): got %g, want NaN", got)
	}
}

func TestLog1p(t *testing.T) {
	for e := -320.0; e < 300; e += 0.173 {
		y := math.Pow(10, e)
		want := math.Log1p(y)
		if got := log1p(y); math.Abs(got-want) > 1e-12*want {
			t.Errorf("log1p(%g): got %.17g, want %.17g", y, got, want)
		}
	}
	if got := log1p(0); got != 0 {
		t.Errorf("log1p(0): got %g, want 0", got)
	}
}

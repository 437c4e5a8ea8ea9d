package cpu

import (
	"math"
	"testing"
)

// TestExp sweeps expf32 against math.Exp over its whole range: the largest error in units of the last place.
func TestExp(t *testing.T) {
	const limit = 1.5
	worst, at := 0.0, float32(0)
	for b := uint32(0); b < 0x42b20000; b += 251 {
		for _, x := range [2]float32{math.Float32frombits(b), -math.Float32frombits(b)} {
			if x < expMin || x > expMax {
				continue
			}
			want := math.Exp(float64(x))
			_, e := math.Frexp(want)
			ulp := math.Ldexp(1, e-24)
			if d := math.Abs(float64(expf32(x))-want) / ulp; d > worst || d != d {
				worst, at = d, x
			}
		}
	}
	t.Logf("worst error %.3f ulp at %g", worst, at)
	if !(worst <= limit) {
		t.Errorf("expf32(%g) is %.3f ulp off, want at most %g", at, worst, limit)
	}
}

func TestExpEdges(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {float32(math.Copysign(0, -1)), 1}, {inf, inf}, {-inf, 0}, {89, inf}, {-88, 0}, {math.MaxFloat32, inf},
		{-math.MaxFloat32, 0}, {math.Nextafter32(expMax, 100), inf}, {math.Nextafter32(expMin, -100), 0},
		{math.SmallestNonzeroFloat32, 1},
	} {
		if got := expf32(c.x); got != c.want {
			t.Errorf("expf32(%g): got %g, want %g", c.x, got, c.want)
		}
	}
	for _, x := range []float32{expMin, math.Nextafter32(expMin, 0), math.Nextafter32(expMax, 0), expMax} {
		want := math.Exp(float64(x))
		if got := float64(expf32(x)); math.Abs(got-want) > 2e-7*want {
			t.Errorf("expf32(%g): got %g, want %g", x, got, want)
		}
	}
	if got := expf32(float32(math.NaN())); got == got {
		t.Errorf("expf32(NaN): got %g, want NaN", got)
	}
}

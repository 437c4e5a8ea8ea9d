package qsa

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func newFreq(t testing.TB, rotary int, theta float64, yarn *Yarn) *InvFreq {
	t.Helper()
	f, err := NewInvFreq(rotary, theta, yarn)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ulps is the distance of two f32 values in units of the last place.
func ulps(a, b float32) int64 {
	order := func(x float32) int64 {
		i := int64(int32(math.Float32bits(x)))
		if i < 0 {
			i = math.MinInt32 - i
		}
		return i
	}
	d := order(a) - order(b)
	return max(d, -d)
}

// Spec 2.5: inv[i] = theta^(-2i/rotary), in f32.
func TestInvFreqDefault(t *testing.T) {
	for _, tc := range []struct {
		rotary int
		theta  float64
	}{{64, 1e7}, {16, 1e7}, {6, 1e4}, {2, 5e5}} {
		f := newFreq(t, tc.rotary, tc.theta, nil)
		if f.Rotary() != tc.rotary || f.Scale() != 1 || f.Theta() != tc.theta || f.inv[0] != 1 {
			t.Errorf("got rotary %d, scale %v, theta %v, inv[0] %v", f.Rotary(), f.Scale(), f.Theta(), f.inv[0])
		}
		for i, got := range f.Values() {
			want := math.Pow(tc.theta, -2*float64(i)/float64(tc.rotary))
			// f32 exponent, power and reciprocal: a few roundings, the exponent's grown by ln(theta) < 17.
			if d := math.Abs(float64(got)-want) / want; d > 1.2e-6 {
				t.Errorf("rotary %d: inv[%d]: got %v, want %v", tc.rotary, i, got, want)
			}
		}
	}
}

// YaRN's three regions, and values worked out by hand for rotary 8, theta 10000, factor 4, original 4096: waves turn
// 4096/(2 pi theta^(i/4)) = 651.9, 65.19, 6.519, 0.6519 times. 32 turns lie at dimension 4*ln(20.37)/ln(10000) = 1.309,
// 1 turn at 2.814; cut to whole dimensions the ramp runs from 1 to 3.
func TestInvFreqYarn(t *testing.T) {
	f := newFreq(t, 8, 1e4, &Yarn{Factor: 4, OriginalMax: 4096})
	for i, want := range []float64{1, 0.1, 0.01*0.5 + 0.0025*0.5, 0.001 / 4} {
		if got := float64(f.inv[i]); math.Abs(got-want)/want > 1e-6 {
			t.Errorf("inv[%d]: got %v, want %v", i, got, want)
		}
	}
	if got, want := float64(f.Scale()), 0.1*math.Log(4)+1; math.Abs(got-want) > 1e-7 {
		t.Errorf("scale: got %v, want %v", got, want)
	}
	f = newFreq(t, 8, 1e4, &Yarn{Factor: 4, OriginalMax: 4096, NoTruncate: true})
	turns := func(n float64) float64 { return 8 * math.Log(4096/(n*2*math.Pi)) / (2 * math.Log(1e4)) }
	ramp := (2 - turns(32)) / (turns(1) - turns(32))
	if got, want := float64(f.inv[2]), 0.01*(1-ramp)+0.0025*ramp; math.Abs(got-want)/want > 1e-6 {
		t.Errorf("no truncate: inv[2]: got %v, want %v", got, want)
	}
	for _, tc := range []struct {
		name string
		y    Yarn
		want float64
	}{
		{"given", Yarn{Factor: 4, OriginalMax: 4096, AttentionFactor: 1.5}, 1.5},
		{"mscale", Yarn{Factor: 4, OriginalMax: 4096, MScale: 1, MScaleAllDim: 0.5}, (0.1*math.Log(4) + 1) / (0.05*math.Log(4) + 1)},
		{"mscale alone is not used", Yarn{Factor: 4, OriginalMax: 4096, MScale: 2}, 0.1*math.Log(4) + 1},
		{"factor 1", Yarn{Factor: 1, OriginalMax: 4096}, 1},
	} {
		if got := float64(newFreq(t, 8, 1e4, &tc.y).Scale()); math.Abs(got-tc.want) > 1e-7 {
			t.Errorf("%s: scale: got %v, want %v", tc.name, got, tc.want)
		}
	}
	// With factor 1 nothing is stretched.
	plain, one := newFreq(t, 64, 1e7, nil), newFreq(t, 64, 1e7, &Yarn{Factor: 1, OriginalMax: 262144})
	for i := range plain.inv {
		if ulps(plain.inv[i], one.inv[i]) > 1 {
			t.Errorf("factor 1: inv[%d]: got %v, want %v", i, one.inv[i], plain.inv[i])
		}
	}
}

func TestInvFreqErrors(t *testing.T) {
	good := Yarn{Factor: 4, OriginalMax: 4096}
	for name, fn := range map[string]func() error{
		"odd":      func() error { _, err := NewInvFreq(7, 1e4, nil); return err },
		"zero":     func() error { _, err := NewInvFreq(0, 1e4, nil); return err },
		"theta":    func() error { _, err := NewInvFreq(8, 1, nil); return err },
		"nan":      func() error { _, err := NewInvFreq(8, math.NaN(), nil); return err },
		"factor":   func() error { y := good; y.Factor = 0.5; _, err := NewInvFreq(8, 1e4, &y); return err },
		"original": func() error { y := good; y.OriginalMax = 0; _, err := NewInvFreq(8, 1e4, &y); return err },
		"beta":     func() error { y := good; y.BetaSlow = -1; _, err := NewInvFreq(8, 1e4, &y); return err },
		"mscale":   func() error { y := good; y.MScale = math.NaN(); _, err := NewInvFreq(8, 1e4, &y); return err },
	} {
		if err := fn(); !errors.Is(err, ErrGeometry) {
			t.Errorf("%s: got %v, want ErrGeometry", name, err)
		}
	}
}

func TestAngles(t *testing.T) {
	f := newFreq(t, 64, 1e7, &Yarn{Factor: 4, OriginalMax: 262144})
	got := make([]float32, 64)
	for _, pos := range []int{0, 1, 3, 2051, 262143, 1<<20 + 1} {
		f.Angles(got, pos)
		for i, inv := range f.inv {
			angle := float64(float32(pos) * inv)
			if c, s := float32(math.Cos(angle))*f.scale, float32(math.Sin(angle))*f.scale; ulps(got[i], c) > 1 || ulps(got[32+i], s) > 1 {
				t.Errorf("position %d, pair %d: got %v, %v, want %v, %v", pos, i, got[i], got[32+i], c, s)
			}
		}
	}
}

// Against the math package, which is good to a unit in the last place of f64.
func TestSincos(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(x float64) {
		s, c := sincos(x)
		if ds, dc := math.Abs(s-math.Sin(x)), math.Abs(c-math.Cos(x)); !(ds < 2e-15) || !(dc < 2e-15) {
			t.Fatalf("x = %v: got %v, %v, want %v, %v", x, s, c, math.Sin(x), math.Cos(x))
		}
	}
	for k := range 64 { // the corners of the reduction
		for d := -2; d <= 2; d++ {
			check(float64(k)*math.Pi/4 + float64(d)*1e-9)
		}
	}
	for range 200_000 {
		check(math.Exp(rng.Float64()*18) * float64(1-2*rng.IntN(2)))
	}
	check(0)
	check(1 << 26)
	check(1e-300)
}

func BenchmarkAngles(b *testing.B) {
	f, dst := newFreq(b, 64, 1e7, nil), make([]float32, 64)
	b.ReportAllocs()
	for pos := 0; b.Loop(); pos++ {
		f.Angles(dst, pos&0xffff)
	}
}

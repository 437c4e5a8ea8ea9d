package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// fmaBig is the oracle: the exact sum, rounded once by math/big (which knows float32's subnormals).
func fmaBig(a, b, c float32) float32 {
	const prec = 1000
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(float64(x)) }
	p := f(a).Mul(f(a), f(b))
	r, _ := p.Add(p, f(c)).Float32()
	return r
}

func TestFMA(t *testing.T) {
	bits := math.Float32frombits
	cases := [][3]float32{
		{0, 0, 0}, {1, 1, 1}, {-1, 1, 1}, {3, 5, 7},
		{0x1p-60, 1, 1 + 0x1p-23}, {0x1p-24, 1, 1}, {-0x1p-25, 1, 1},
		{0x1.000002p-12, 0x1.000002p-12, 1}, {0x1.fffffep-13, 0x1.000002p-12, 1},
		{0x1.fffffep-13, 0x1.000002p-12, 1 + 0x1p-23},
		// Subnormal results, with a product far below the last place.
		{0x1.000002p-75, 0x1.000002p-75, 0x1p-127}, {0x1.fffffep-76, 0x1.000002p-75, 0x1p-127},
		{0x1.fffffep-76, 0x1.000002p-75, 0x1p-127 + 0x1p-149}, {0x1p-149, 0x1p-149, 0x1p-149},
		{0x1p-75, 0x1p-75, 0}, {0x1.8p-75, 0x1p-75, 0}, {0x1p-149, -0.5, 0x1p-149},
		// The top of the range.
		{math.MaxFloat32, 1, 0x1p103}, {math.MaxFloat32, 1, 0x1p102}, {math.MaxFloat32, 2, -math.MaxFloat32},
		{math.MaxFloat32, math.MaxFloat32, -math.MaxFloat32},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	// Products of 2^n+-1, scaled to half a last place of c plus or minus a little that float64 cannot hold: rounding
	// the float64 sum again goes the wrong way for every other c.
	for _, f := range []struct {
		a, b float32
		n    int
	}{{812825, 1321, 30}, {21483, 49981, 30}, {8392705, 8384513, 46}} {
		for range 2000 {
			exp := 1 + rng.IntN(253)
			c := bits(uint32(exp)<<23 | rng.Uint32()&0x807f_ffff)
			half := exp - 127 - 24
			cases = append(cases, [3]float32{f.a, float32(math.Ldexp(float64(f.b), half-f.n)), c})
			c = bits(rng.Uint32() & 0x807f_ffff) // subnormal: half a place is 2^-150
			cases = append(cases, [3]float32{float32(math.Ldexp(float64(f.a), -100)), -float32(math.Ldexp(float64(f.b), -50-f.n)), c})
		}
	}
	for range 200_000 {
		a, b, c := bits(rng.Uint32()), bits(rng.Uint32()), bits(rng.Uint32())
		switch rng.IntN(4) {
		case 0: // near in size, short mantissas: many ties
			a = bits(rng.Uint32()&0x807f_0000 | 0x3f00_0000)
			b = bits(rng.Uint32()&0x807f_ff00 | 0x3f00_0000)
			c = bits(rng.Uint32()&0x807f_ffff | uint32(rng.IntN(60)+100)<<23)
		case 1: // c close to -a*b: cancellation
			b = bits(rng.Uint32()&0x807f_ffff | 0x3f00_0000)
			c = -float32(a * b)
		case 2: // subnormal neighbourhood
			a = bits(rng.Uint32()&0x807f_ffff | uint32(rng.IntN(30)+40)<<23)
			b = bits(rng.Uint32()&0x807f_ffff | uint32(rng.IntN(30)+40)<<23)
			c = bits(rng.Uint32() & 0x80ff_ffff)
		}
		cases = append(cases, [3]float32{a, b, c})
	}
	for _, v := range cases {
		if x := v[0] + v[1] + v[2]; x != x || math.IsInf(float64(v[0]), 0) || math.IsInf(float64(v[1]), 0) || math.IsInf(float64(v[2]), 0) {
			continue
		}
		want := fmaBig(v[0], v[1], v[2])
		for name, f := range map[string]func(a, b, c float32) float32{"soft": fmaSoft, "fma32": fma32} {
			got := f(v[0], v[1], v[2])
			if got != want {
				t.Fatalf("%s(%x, %x, %x): got %x, want %x", name, v[0], v[1], v[2], got, want)
			}
		}
	}
}

func TestFMASpecial(t *testing.T) {
	inf, nan, neg := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct{ a, b, c, want float32 }{
		{inf, 1, 1, inf}, {1, 1, -inf, -inf}, {inf, 0, 1, nan}, {inf, 1, -inf, nan}, {nan, 1, 1, nan},
		{neg, 1, neg, neg}, {neg, 1, 0, 0}, {1, 1, -1, 0}, {-1, 0, 0, 0},
	} {
		got := fma32(c.a, c.b, c.c)
		if c.want != c.want {
			if got == got {
				t.Errorf("fma32(%g, %g, %g): got %g, want NaN", c.a, c.b, c.c, got)
			}
			continue
		}
		if math.Float32bits(got) != math.Float32bits(c.want) {
			t.Errorf("fma32(%g, %g, %g): got %g, want %g", c.a, c.b, c.c, got, c.want)
		}
	}
}

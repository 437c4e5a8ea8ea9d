package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestUnitIsStrictlyInside(t *testing.T) {
	for _, b := range []uint64{0, 1, 1 << 51, 1<<52 - 2, 1<<52 - 1} {
		if u := unit(b); !(u > 0 && u < 1) {
			t.Errorf("unit(%d) = %v, want inside (0, 1)", b, u)
		}
		if g := gumbel(b); math.IsInf(g, 0) || math.IsNaN(g) || g < -3.61 || g > 36.74 {
			t.Errorf("gumbel(%d) = %v, want finite in [-3.61, 36.74]", b, g)
		}
	}
}

func TestCeilingBoundsGumbel(t *testing.T) {
	check := func(b uint64) {
		if g, c := gumbel(b), ceiling(b); g > c || c > ceilingAll() {
			t.Fatalf("b = %#x: gumbel %v, ceiling %v, ceiling of all %v: want them in this order", b, g, c, ceilingAll())
		}
	}
	for l := range 53 { // the tightest points: the smallest complement of each length, and its neighbours
		for _, c := range []uint64{1 << l >> 1, 1<<l>>1 + 1, 1<<l - 1} {
			check(1<<52 - 1 - min(c, 1<<52-1))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300000 {
		check(r.Uint64() >> 12)
		check(1<<52 - 1 - r.Uint64()>>(12+r.IntN(52)))
	}
}

// TestNoiseLayout pins each field's place in key and counter against the bare bijection.
func TestNoiseLayout(t *testing.T) {
	n := Noise{Seed: 0x1122334455667788, Choice: 9}
	w0, w1, _, _ := philox(5, 7, 9, uint32(DomainGumbel), 0x55667788, 0x11223344)
	if got, want := n.Gumbel(5, 7), gumbel((uint64(w1)<<32|uint64(w0))>>12); got != want {
		t.Errorf("Gumbel(5, 7) = %v, want %v", got, want)
	}
	w0, w1, _, _ = philox(5, 0, 9, uint32(DomainPick), 0x55667788, 0x11223344)
	if got, want := n.Uniform(DomainPick, 5), float64(2*((uint64(w1)<<32|uint64(w0))>>12)+1)/0x1p53; got != want {
		t.Errorf("Uniform(pick, 5) = %v, want %v", got, want)
	}
}

// TestNoiseFieldsMatter: every field of the counter and key changes the bits.
func TestNoiseFieldsMatter(t *testing.T) {
	base := Noise{Seed: 1, Choice: 0}
	b := base.bits52(DomainGumbel, 10, 20)
	for name, got := range map[string]uint64{
		"position":  base.bits52(DomainGumbel, 11, 20),
		"id":        base.bits52(DomainGumbel, 10, 21),
		"domain":    base.bits52(DomainPick, 10, 20),
		"choice":    Noise{Seed: 1, Choice: 1}.bits52(DomainGumbel, 10, 20),
		"seed low":  Noise{Seed: 2}.bits52(DomainGumbel, 10, 20),
		"seed high": Noise{Seed: 1 | 1<<63}.bits52(DomainGumbel, 10, 20),
	} {
		if got == b {
			t.Errorf("%s does not change the noise", name)
		}
	}
}

// TestGumbelMoments: mean gamma, variance pi^2/6. Fixed seed; the limits are 4 standard errors.
func TestGumbelMoments(t *testing.T) {
	const n = 400000
	noise := Noise{Seed: 77}
	var sum, sq float64
	for i := range n {
		g := noise.Gumbel(i/1000, int32(i%1000))
		sum += g
		sq += g * g
	}
	mean := sum / n
	variance := sq/n - mean*mean
	if want := 0.5772156649; math.Abs(mean-want) > 4*1.2825/math.Sqrt(n) {
		t.Errorf("mean %v, want %v", mean, want)
	}
	// The variance of (G-mean)^2 is (kurtosis 5.4 - 1) var^2.
	if want := math.Pi * math.Pi / 6; math.Abs(variance-want) > 4*want*math.Sqrt(4.4/n) {
		t.Errorf("variance %v, want %v", variance, want)
	}
}

// TestFillBitsEqualsScalar: the vector path gives the scalar path's integers, for every length and any field values.
func TestFillBitsEqualsScalar(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for trial := range 2000 {
		n := Noise{Seed: r.Uint64(), Choice: r.Uint32()}
		pos, d, count := r.Uint32(), Domain(r.IntN(3)), trial%(lap+1)
		var ids [lap]int32
		var got, want [lap]uint64
		for i := range ids {
			ids[i] = int32(r.Uint32())
		}
		n.fillBits(&got, &ids, count, d, pos)
		n.fillBitsGeneric(&want, &ids, count, d, pos)
		for i := range count {
			if got[i] != want[i] || want[i] != n.bits52(d, pos, uint32(ids[i])) {
				t.Fatalf("%+v, position %d, id %d: bits %#x, want %#x", n, pos, ids[i], got[i], want[i])
			}
		}
	}
}

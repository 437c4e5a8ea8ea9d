package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// refExperts is the definition (spec 2.6, stream.go) for one row.
func refExperts(p Precision, x []float32, ids []int32, w []float32, gate, up, down *metal.WeightSpec) []float32 {
	y := make([]float32, down.Rows)
	for i, e := range ids {
		h := make([]float32, gate.Rows)
		for n := range h {
			h[n] = silu(refProduct(p, gate, int(e), n, x)) * refProduct(p, up, int(e), n, x)
		}
		for n := range y {
			y[n] += float32(w[i] * refProduct(p, down, int(e), n, h))
		}
	}
	return y
}

// pickExperts fills ids (ascending, distinct) and weights.
func (s *stream) pickExperts(t testing.TB, rng *rand.Rand, rows, experts, k int) (ids, w metal.Mat) {
	t.Helper()
	b, err := s.dev.Alloc(metal.I32, rows*k)
	if err != nil {
		t.Fatal(err)
	}
	ids = metal.NewMat(b, rows, k)
	for r := range rows {
		for i, e := range rng.Perm(experts)[:k] {
			imatOf(ids).row(r)[i] = int32(e)
		}
		slices.Sort(imatOf(ids).row(r))
	}
	return ids, s.randomMat(t, rng, rows, k)
}

func TestExpertsBits(t *testing.T) {
	type shape struct{ hidden, inner, experts, k, group int }
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, f := range allFormats {
			for _, sh := range []shape{{64, 32, 6, 3, 32}, {72, 40, 7, 3, 8}, {8, 8, 1, 1, 8}, {16, 56, 9, 4, 8}} {
				rng := rand.New(rand.NewPCG(uint64(sh.hidden), uint64(f)))
				specs := []metal.WeightSpec{
					randomSpec(rng, f, sh.inner, sh.hidden, sh.group, sh.experts),
					randomSpec(rng, f, sh.inner, sh.hidden, sh.group, sh.experts),
					randomSpec(rng, f, sh.hidden, sh.inner, sh.group, sh.experts),
				}
				var ws [3]metal.Weight
				for i := range specs {
					ws[i] = s.mustLoad(t, specs[i])
					specs[i] = asMultiplied(s.precision(), specs[i])
				}
				for _, rows := range []int{1, 2, 5, 40} {
					x, y := s.randomMat(t, rng, rows, sh.hidden), s.randomMat(t, rng, rows, sh.hidden)
					ids, w := s.pickExperts(t, rng, rows, sh.experts, sh.k)
					s.Experts(y, x, ids, w, ws[0], ws[1], ws[2])
					checkMargins(t, y)
					for r := range rows {
						want := refExperts(s.precision(), matOf(x).row(r), imatOf(ids).row(r), matOf(w).row(r), &specs[0], &specs[1], &specs[2])
						for n, got := range matOf(y).row(r) {
							if !sameBits(got, want[n]) {
								t.Fatalf("%s %+v, %d rows: y[%d][%d]: got %x, want %x", f, sh, rows, r, n, got, want[n])
							}
						}
					}
				}
			}
		}
	})
}

// TestExpertsOfUnlikeFormats: the three stacks may each have a format of their own.
func TestExpertsOfUnlikeFormats(t *testing.T) {
	const hidden, inner, experts, k, rows = 64, 32, 5, 2, 7
	eachKernels(t, func(t *testing.T, s *stream) {
		for i, gate := range allFormats {
			up, down := allFormats[(i+1)%len(allFormats)], allFormats[(i+2)%len(allFormats)]
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			specs := []metal.WeightSpec{randomSpec(rng, gate, inner, hidden, 32, experts), randomSpec(rng, up, inner, hidden, 64, experts),
				randomSpec(rng, down, hidden, inner, 32, experts)}
			var ws [3]metal.Weight
			for i := range specs {
				ws[i] = s.mustLoad(t, specs[i])
				specs[i] = asMultiplied(s.precision(), specs[i])
			}
			x, y := s.randomMat(t, rng, rows, hidden), s.randomMat(t, rng, rows, hidden)
			ids, w := s.pickExperts(t, rng, rows, experts, k)
			s.Experts(y, x, ids, w, ws[0], ws[1], ws[2])
			for r := range rows {
				want := refExperts(s.precision(), matOf(x).row(r), imatOf(ids).row(r), matOf(w).row(r), &specs[0], &specs[1], &specs[2])
				for n, got := range matOf(y).row(r) {
					if !sameBits(got, want[n]) {
						t.Fatalf("gate %s, up %s, down %s: y[%d][%d]: got %x, want %x", gate, up, down, r, n, got, want[n])
					}
				}
			}
		}
	})
}

func TestExpertsAllocs(t *testing.T) {
	eachKernels(t, func(t *testing.T, s *stream) {
		rng := rand.New(rand.NewPCG(1, 2))
		gate := s.mustLoad(t, randomSpec(rng, metal.FormatQ8, 32, 64, 32, 4))
		up := s.mustLoad(t, randomSpec(rng, metal.FormatQ8, 32, 64, 32, 4))
		down := s.mustLoad(t, randomSpec(rng, metal.FormatQ8, 64, 32, 32, 4))
		x, y := s.randomMat(t, rng, 5, 64), s.randomMat(t, rng, 5, 64)
		ids, w := s.pickExperts(t, rng, 5, 4, 2)
		if got := testing.AllocsPerRun(10, func() { s.Experts(y, x, ids, w, gate, up, down) }); got != 0 {
			t.Errorf("got %g allocations a call, want 0", got)
		}
	})
}

func TestExpertsBadID(t *testing.T) {
	s := newStream(testDevice(t, Options{Threads: 1}))
	rng := rand.New(rand.NewPCG(1, 2))
	gate := s.mustLoad(t, randomSpec(rng, metal.FormatF32, 4, 8, 0, 2))
	down := s.mustLoad(t, randomSpec(rng, metal.FormatF32, 8, 4, 0, 2))
	x, y := s.randomMat(t, rng, 1, 8), s.randomMat(t, rng, 1, 8)
	for _, bad := range []int32{-1, 2, math.MaxInt32} {
		ids, w := s.pickExperts(t, rng, 1, 2, 1)
		imatOf(ids).row(0)[0] = bad
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("id %d: got no panic", bad)
				}
			}()
			s.Experts(y, x, ids, w, gate, gate, down)
		}()
	}
}

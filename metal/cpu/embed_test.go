package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

func TestEmbedBits(t *testing.T) {
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, f := range allFormats {
			for _, sh := range []struct{ rows, cols, group, copies int }{{37, 64, 32, 4}, {5, 8, 4, 1}, {311, 72, 12, 2}, {4, 64, 32, 2}} {
				rng := rand.New(rand.NewPCG(uint64(sh.rows), uint64(f)))
				spec := randomSpec(rng, f, sh.rows, sh.cols, sh.group, 1)
				w := s.mustLoad(t, spec)
				spec = asMultiplied(s.precision(), spec)
				for _, n := range []int{0, 1, 3, 200} {
					ids := make([]int32, n)
					for i := range ids {
						ids[i] = int32(rng.IntN(sh.rows))
					}
					if n > 1 {
						ids[0], ids[1] = 0, int32(sh.rows-1)
					}
					dst := s.randomMat(t, rng, n, sh.cols*sh.copies)
					s.Embed(dst, w, ids, sh.copies)
					checkMargins(t, dst)
					for r, id := range ids {
						for c, got := range matOf(dst).row(r) {
							if want := specValue(&spec, 0, int(id), c%sh.cols); !sameBits(got, want) {
								t.Fatalf("%s %+v: row %d (id %d) column %d: got %x, want %x", f, sh, r, id, c, got, want)
							}
						}
					}
				}
			}
		}
	})
}

func TestEmbedBadID(t *testing.T) {
	s := newStream(testDevice(t, Options{Threads: 1}))
	rng := rand.New(rand.NewPCG(1, 2))
	w := s.mustLoad(t, randomSpec(rng, metal.FormatF32, 20, 8, 0, 1))
	dst := s.randomMat(t, rng, 1, 8)
	for _, bad := range []int32{-1, 20, 31, 32} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("id %d: got no panic", bad)
				}
			}()
			s.Embed(dst, w, []int32{bad}, 1)
		}()
	}
}

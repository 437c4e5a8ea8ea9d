package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// TestFusedBits holds the fused blocks to the bits of their compositions, through the sizes where narrow becomes tall.
func TestFusedBits(t *testing.T) {
	const h, streams, low, inner, experts, top = 96, 4, 32, 96, 16, 4
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, f := range []metal.Format{metal.FormatQ8, metal.FormatBF16, metal.FormatQ4} {
			rng := rand.New(rand.NewPCG(11, uint64(f)))
			load := func(rows, cols, stack int) metal.Weight {
				return s.mustLoad(t, randomSpec(rng, f, rows, cols, 32, stack))
			}
			mixer := &metal.Mixer{
				Norm: s.randomMat(t, rng, 1, streams*h).Row(0), Down: load(low, streams*h, 1), Up: load(streams*h, low, 1),
				Inject: load(streams, streams*h, 1), Streams: streams, Eps: 1e-6,
			}
			moe := &metal.MoE{
				Router: load(experts, h, 1), Gate: load(inner, h, experts), Up: load(inner, h, experts), Down: load(h, inner, experts),
				SharedGate: load(inner, h, 1), SharedUp: load(inner, h, 1), SharedDown: load(h, inner, 1), SharedExpertGate: load(1, h, 1),
				TopK: top, Renorm: true,
			}
			for _, rows := range []int{1, 2, 4, 7, 15, 16, 17, 31, 32, 33, 100} {
				m := func(cols int) metal.Mat { return s.randomMat(t, rng, rows, cols) }
				ints := func() metal.Mat {
					ids, _ := s.pickExperts(t, rng, rows, experts, top)
					return ids
				}
				x := m(streams * h)
				scratch := func() metal.MixScratch {
					return metal.MixScratch{Normed: m(streams * h), Gate: m(streams * h), Low: m(low)}
				}
				u, c, u2, c2 := m(h), m(streams), m(h), m(streams)
				s.Mix(u, c, x, mixer, scratch())
				metal.ComposeMix(s, u2, c2, x, mixer, scratch())
				sameMat(t, fmt.Sprintf("%s, %d rows: Mix u", f, rows), u, u2)
				sameMat(t, fmt.Sprintf("%s, %d rows: Mix c", f, rows), c, c2)

				room := func() metal.MoEScratch {
					return metal.MoEScratch{Logits: m(experts), IDs: ints(), Weights: m(top), SharedGate: m(inner), SharedUp: m(inner), Shared: m(h), Share: m(1)}
				}
				y, y2, x2 := m(h), m(h), m(streams*h)
				s.CopyRows(x2, x)
				s.RunMoE(x, c, y, u, moe, room())
				metal.ComposeMoE(s, x2, c, y2, u, moe, room())
				sameMat(t, fmt.Sprintf("%s, %d rows: RunMoE y", f, rows), y, y2)
				sameMat(t, fmt.Sprintf("%s, %d rows: RunMoE x", f, rows), x, x2)
				checkMargins(t, x)
			}
		}
	})
}

func sameMat(t *testing.T, what string, got, want metal.Mat) {
	t.Helper()
	for r := range got.Rows {
		for i, v := range matOf(got).row(r) {
			if w := matOf(want).row(r)[i]; !sameBits(v, w) {
				t.Fatalf("%s: row %d column %d: got %x, composed %x", what, r, i, v, w)
			}
		}
	}
}

package model_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// geometries are the random models most tests run on.
var geometries = []struct {
	name string
	make func() packtest.Geometry
}{{"tiny", packtest.Tiny}, {"odd", packtest.Odd}}

// tokens are random ids with a few boundary ids among them.
func tokens(g packtest.Geometry, seed uint64, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]int32, n)
	for i := range out {
		out[i] = rng.Int32N(int32(g.Vocab))
		if rng.IntN(9) == 0 {
			out[i] = g.EOS[0]
		}
	}
	return out
}

// TestReference compares the pass with a float64 implementation of the spec that shares no code with it, on sequences
// that go past the QSA budget.
func TestReference(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			p := packtest.Open(t, g, 11, packtest.Options{DType: pack.F32})
			m := modeltest.Load(t, p, modeltest.CPU(t, 1))
			ids := tokens(g, 3, g.IndexBudget+5*g.IndexRatio+2)
			want := modeltest.NewReference(t, p).Trunk(ids)
			r := modeltest.NewRunner(t, m, len(ids))
			r.Pass.Trace = model.NewTrace()
			logits := r.Feed(ids, len(ids), model.LogitsAll)
			sparse := 0
			for layer, rows := range want.Blocks {
				for pos, blocks := range rows {
					got := r.Pass.Trace.Blocks[layer][pos]
					if len(got) != len(blocks) || !slices.EqualFunc(got, blocks, func(a int32, b int) bool { return int(a) == b }) {
						t.Errorf("layer %d, position %d: got blocks %v, want %v", layer, pos, got, blocks)
					}
					if len(blocks) < (pos+1)/g.IndexRatio {
						sparse++
					}
				}
			}
			if sparse == 0 {
				t.Error("no position had to choose blocks")
			}
			for pos := range ids {
				near(t, "streams", pos, r.Pass.Trace.Hidden[lastLayer(m)][pos], want.Streams[pos])
				near(t, "logits", pos, logits[pos], want.Logits[pos])
			}
		})
	}
}

func lastLayer(m *model.Model) string { return "layer" + string(rune('0'+len(m.Layers)-1)) }

// near asks for f32 accuracy relative to the row's largest value.
func near(t *testing.T, what string, pos int, got []float32, want []float64) {
	t.Helper()
	scale, diff := 0.0, 0.0
	for i, w := range want {
		scale = max(scale, max(w, -w))
		d := float64(got[i]) - w
		diff = max(diff, max(d, -d))
	}
	if !(diff <= 2e-5*scale) {
		t.Errorf("position %d: %s: got %.3g away, want %.3g (largest value %.3g)", pos, what, diff, 2e-5*scale, scale)
	}
}

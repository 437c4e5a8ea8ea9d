package mtp_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal"
)

var geometries = []struct {
	name string
	make func() packtest.Geometry
}{{"tiny", packtest.Tiny}, {"odd", packtest.Odd}}

func tokens(g packtest.Geometry, seed uint64, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]int32, n)
	for i := range out {
		out[i] = rng.Int32N(int32(g.Vocab))
	}
	return out
}

// TestReference compares drafts to depth 4 with a float64 implementation that shares no code with the head, for contexts
// below and above the QSA budget.
func TestReference(t *testing.T) {
	for _, c := range geometries {
		g := c.make()
		for _, n := range []int{5, g.IndexBudget + 4*g.IndexRatio + 1} {
			t.Run(fmt.Sprintf("%s/%d", c.name, n), func(t *testing.T) {
				p := packtest.Open(t, g, 31, packtest.Options{DType: pack.F32, WithMTP: true})
				m, h := load(t, p, 1)
				ids, drafts := tokens(g, 9, n), tokens(g, 10, 5)
				first := drafts[4]

				ref := modeltest.NewReference(t, p)
				streams := ref.Trunk(ids).Streams
				next := append(append([]int32(nil), ids[1:]...), first)

				d := newDrafting(t, m, h, 16)
				d.prefill(ids, 16)
				var got []float32
				d.head.Probe = func(_ int, x metal.Mat) {
					got = make([]float32, x.Cols)
					if err := d.head.Stream().Read(got, x.Row(0)); err != nil {
						t.Fatal(err)
					}
				}
				steps := 0
				job := d.job(first, 4, func(step int, logits []float32) (int32, error) {
					rows, want := ref.MTP(streams, next)
					last := rows[len(rows)-1]
					near(t, fmt.Sprintf("step %d: streams", step), got, last)
					near(t, fmt.Sprintf("step %d: logits", step), logits, want)
					streams, next = append(streams, last), append(next, drafts[step])
					steps++
					return drafts[step], nil
				})
				if err := d.head.Draft(context.Background(), []mtp.Job{job}); err != nil {
					t.Fatal(err)
				}
				if steps != 4 {
					t.Errorf("got %d steps, want 4", steps)
				}
			})
		}
	}
}

// near asks for f32 accuracy relative to the row's largest value.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	scale, diff := 0.0, 0.0
	for i, w := range want {
		scale = max(scale, max(w, -w))
		d := float64(got[i]) - w
		diff = max(diff, max(d, -d))
	}
	if !(diff <= 3e-5*scale) {
		t.Errorf("%s: got %.3g away, want %.3g (largest value %.3g)", what, diff, 3e-5*scale, scale)
	}
}

package model_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/metal/cpu"
)

// BenchmarkPrecision is what precision fast gains over exact: passes of a few rows with their logits, and prompts.
func BenchmarkPrecision(b *testing.B) {
	for _, threads := range []int{1, 2} {
		var ms [2]*model.Model
		var names [2]string
		for i, p := range []cpu.Precision{cpu.Exact, cpu.Fast} {
			ms[i] = modeltest.Load(b, modeltest.Nano(b), modeltest.CPUWith(b, cpu.Options{Threads: threads, Precision: p}))
			names[i] = p.String()
		}
		for _, width := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("M=%d/threads=%d", width, threads), func(b *testing.B) {
				var ways [2]func()
				for i, m := range ms {
					r := modeltest.NewRunner(b, m, 256)
					r.Feed(random(m, 200), 256, model.LogitsNone)
					logits := make([]float32, m.Config.Vocab)
					seg := r.Segment(random(m, width), true, model.LogitsAll)
					ways[i] = func() {
						if err := r.Pass.Run(context.Background(), []*model.Segment{seg}); err != nil {
							b.Fatal(err)
						}
						for row := range width {
							if err := r.Pass.LogitsRow(logits, seg, row); err != nil {
								b.Fatal(err)
							}
						}
						r.Pass.Abort(seg)
					}
				}
				modeltest.ByTurns(b, names, ways)
			})
		}
		for _, n := range []int{512, 2048} {
			b.Run(fmt.Sprintf("T=%d/threads=%d", n, threads), func(b *testing.B) {
				var ways [2]func()
				for i, m := range ms {
					ids := random(m, n)
					r := modeltest.NewRunner(b, m, 256)
					b.Cleanup(func() { r.Seq = nil })
					ways[i] = func() {
						seq, err := m.NewSequence()
						if err != nil {
							b.Fatal(err)
						}
						r.Seq, r.Ledger = seq, nil
						r.Feed(ids, 256, model.LogitsLast)
						seq.Release()
					}
				}
				modeltest.ByTurns(b, names, ways)
			})
		}
	}
}

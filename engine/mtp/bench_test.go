package mtp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/metal/cpu"
)

// BenchmarkDraft is a drafter's turn of the embedded pack: catch up with 3 rows, then draft to a depth.
func BenchmarkDraft(b *testing.B) {
	m, h := load(b, modeltest.Nano(b), 0)
	for _, depth := range []int{1, 3} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			turn := draftTurn(b, m, h, depth)
			for b.Loop() {
				turn()
			}
		})
	}
}

// BenchmarkPrecision is what precision fast gains over exact in such a turn.
func BenchmarkPrecision(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("depth=3/threads=%d", threads), func(b *testing.B) {
			var names [2]string
			var ways [2]func()
			for i, precision := range []cpu.Precision{cpu.Exact, cpu.Fast} {
				p := modeltest.Nano(b)
				m := modeltest.Load(b, p, modeltest.CPUWith(b, cpu.Options{Threads: threads, Precision: precision}))
				h, err := mtp.Load(p, m)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(h.Close)
				names[i], ways[i] = precision.String(), draftTurn(b, m, h, 3)
			}
			modeltest.ByTurns(b, names, ways)
		})
	}
}

// draftTurn is a turn that can be repeated.
func draftTurn(b *testing.B, m *model.Model, h *mtp.Head, depth int) func() {
	d := newDrafting(b, m, h, 64)
	ids := make([]int32, 200)
	for i := range ids {
		ids[i] = int32(37 * i % m.Config.Vocab)
	}
	d.prefill(ids, 64)
	d.prime(5)
	d.verify(3, 5, 6, 7)
	jobs := []mtp.Job{d.job(8, depth, func(_ int, logits []float32) (int32, error) {
		return modeltest.ArgMax(logits), nil
	})}
	return func() {
		if err := d.head.Draft(context.Background(), jobs); err != nil {
			b.Fatal(err)
		}
	}
}

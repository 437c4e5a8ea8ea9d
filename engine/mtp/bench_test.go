package mtp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
)

// BenchmarkDraft is a drafter's turn of the embedded pack: catch up with 3 rows, then draft to a depth.
func BenchmarkDraft(b *testing.B) {
	m, h := load(b, modeltest.Nano(b), 0)
	for _, depth := range []int{1, 3} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
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
			for b.Loop() {
				if err := d.head.Draft(context.Background(), jobs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

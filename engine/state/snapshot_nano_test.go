package state_test

import (
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/state"
)

// TestNanoRestored takes and restores the embedded pack's state around its QSA budget of 256 positions.
func TestNanoRestored(t *testing.T) {
	e := newEngine(t, modeltest.Nano(t), modeltest.CPU(t, 2), 128)
	ids, wrong := randomTokens(e.m.Config.Vocab, 11, 320), randomTokens(e.m.Config.Vocab, 12, 5)
	k := e.start()
	defer k.end()
	var parent *state.Snapshot
	from := 0
	for _, n := range []int{64, 255, 258, 300} {
		k.feed(ids[from:n], 64)
		from = n
		s := k.take(parent, nil)
		warm, cold := e.restore(s, ids), e.start()
		cold.feed(ids[:n], 128)
		warm.prime(ids[n])
		cold.prime(ids[n])
		what := fmt.Sprintf("%d positions", n)
		sameState(t, what, warm.digest(), cold.digest())
		sameLogits(t, what, goOn(warm, ids, wrong), goOn(cold, ids, wrong))
		warm.end()
		cold.end()
		if parent != nil {
			parent.Release()
		}
		parent = s
	}
	parent.Release()
}

// BenchmarkSnapshotNano takes and restores a snapshot of the embedded pack at 2048 positions: alone, and on top of one 256
// positions shorter.
func BenchmarkSnapshotNano(b *testing.B) {
	e := newEngine(b, modeltest.Nano(b), modeltest.CPU(b, 2), 256)
	ids := randomTokens(e.m.Config.Vocab, 13, 2048)
	k := e.start()
	defer k.end()
	k.feed(ids[:1792], 256)
	parent := k.take(nil, nil)
	defer parent.Release()
	k.feed(ids[1792:], 256)
	for _, c := range []struct {
		name   string
		parent *state.Snapshot
	}{{"take", nil}, {"take-on-parent", parent}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := k.take(c.parent, nil)
				b.ReportMetric(float64(s.Bytes()), "device-bytes")
				s.Release()
			}
		})
	}
	s := k.take(parent, nil)
	defer s.Release()
	for _, drafts := range []bool{false, true} {
		b.Run(fmt.Sprintf("restore-drafts-%v", drafts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				seq, kept, err := state.Restore(e.st, e.m.Shape, e.m.Device, s, state.RestoreOptions{Drafts: drafts, Shelf: e.m.Shelf})
				if err != nil {
					b.Fatal(err)
				}
				seq.Release()
				kept.Free()
			}
		})
	}
}

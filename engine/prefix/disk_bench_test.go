package prefix_test

import (
	"context"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/state"
)

// BenchmarkDiskNano saves and loads a snapshot of the embedded pack's trunk at 2048 positions, and times the prefill that a
// load saves.
func BenchmarkDiskNano(b *testing.B) {
	dev := modeltest.CPU(b, 2)
	m := modeltest.Load(b, modeltest.Nano(b), dev)
	ids := make([]int32, 2048)
	for i := range ids {
		ids[i] = int32(i*7919) % int32(m.Config.Vocab)
	}
	r := modeltest.NewRunner(b, m, 256)
	b.Run("cold-prefill", func(b *testing.B) {
		for b.Loop() {
			seq, err := m.NewSequence()
			if err != nil {
				b.Fatal(err)
			}
			cold := &modeltest.Runner{T: b, Model: m, Pass: r.Pass, Seq: seq}
			cold.Feed(ids, 256, model.LogitsLast)
			seq.Release()
		}
	})
	r.Feed(ids, 256, model.LogitsNone)
	st := r.Pass.Stream()
	s, err := state.Take(st, r.Seq, state.TakeOptions{Prompt: len(ids)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Release()
	d, err := prefix.OpenDisk(b.TempDir(), prefix.DiskOptions{Pack: "nano", Device: dev.Info(), Shape: m.Shape, Limit: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	ctx := context.Background()
	b.Run("save", func(b *testing.B) {
		b.SetBytes(s.Bytes())
		for b.Loop() {
			ids[0] = (ids[0] + 1) % int32(m.Config.Vocab) // another prefix each time
			if err := d.Save(ctx, st, ids, s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		b.SetBytes(s.Bytes())
		for b.Loop() {
			got, err := d.Load(ctx, st, dev, ids, prefix.Want{Prompt: len(ids)}, prefix.LoadOptions{})
			if err != nil {
				b.Fatal(err)
			}
			got.Release()
		}
	})
	tree := prefix.New(prefix.Options{Device: dev.Info(), Limit: 1 << 30})
	defer tree.Close()
	s.Retain()
	h, err := tree.Insert(ids, s)
	if err != nil {
		b.Fatal(err)
	}
	h.Release()
	ask := append(ids, 1, 2, 3)
	b.Run("lookup", func(b *testing.B) {
		for b.Loop() {
			h, _ := tree.Lookup(ask, prefix.Want{Prompt: len(ask)})
			h.Release()
		}
	})
}

package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/metal"
)

// BenchmarkVerify is a verify pass of the embedded pack at a context of 200 positions, by width: what a round costs the
// verifier.
func BenchmarkVerify(b *testing.B) {
	m := modeltest.Load(b, modeltest.Nano(b), modeltest.CPU(b, 0))
	for _, width := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("M=%d", width), func(b *testing.B) {
			r := modeltest.NewRunner(b, m, 256)
			r.Feed(random(m, 200), 256, model.LogitsNone)
			logits := make([]float32, m.Config.Vocab)
			seg := r.Segment(random(m, width), true, model.LogitsAll)
			segs := []*model.Segment{seg}
			for b.Loop() {
				if err := r.Pass.Run(context.Background(), segs); err != nil {
					b.Fatal(err)
				}
				for row := range width {
					if err := r.Pass.LogitsRow(logits, seg, row); err != nil {
						b.Fatal(err)
					}
				}
				r.Pass.Abort(seg)
			}
			b.ReportMetric(float64(width*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkBatch is passes of some rows each of several sequences, with what it takes to commit one row of each: what a round costs the verifier
// when that many streams run, in one pass on all threads or in two at once that share the threads out.
func BenchmarkBatch(b *testing.B) {
	m := modeltest.Load(b, modeltest.Nano(b), modeltest.CPU(b, 0))
	for _, c := range []struct{ streams, rows int }{{1, 1}, {1, 4}, {2, 1}, {2, 4}, {4, 1}, {4, 4}, {8, 1}} {
		for teams := 1; teams <= min(c.streams, 2); teams++ {
			b.Run(fmt.Sprintf("streams=%d/rows=%d/passes=%d", c.streams, c.rows, teams), func(b *testing.B) {
				on := []metal.Stream{m.Device.NewStream()}
				if teams > 1 {
					on = m.Device.(metal.Divisible).Divide(teams)
				}
				passes, segs := make([]*model.Pass, teams), make([][]*model.Segment, teams)
				for i, st := range on {
					pass, err := m.NewPassOn(st, 64)
					if err != nil {
						b.Fatal(err)
					}
					defer pass.Free()
					passes[i] = pass
					for k := range c.streams / teams {
						s := modeltest.NewRunner(b, m, 256)
						s.Feed(random(m, 200-i-teams*k), 256, model.LogitsNone)
						segs[i] = append(segs[i], s.Segment(random(m, c.rows), true, model.LogitsAll))
					}
				}
				var wg sync.WaitGroup
				var took atomic.Int64
				b.ResetTimer()
				for i := range passes {
					wg.Go(func() { took.Add(int64(rounds(b, m, passes[i], segs[i]))) })
				}
				wg.Wait()
				b.ReportMetric(float64(c.streams*b.N)/b.Elapsed().Seconds(), "rounds/s")
				b.ReportMetric(float64(took.Load())/1000/float64(teams*b.N), "us/pass")
			})
		}
	}
}

// rounds runs and commits the segments b.N times, and returns the time of the passes.
func rounds(b *testing.B, m *model.Model, p *model.Pass, segs []*model.Segment) (passes time.Duration) {
	logits := make([]float32, m.Config.Vocab)
	for range b.N {
		start := time.Now()
		if err := p.Run(context.Background(), segs); err != nil {
			b.Error(err)
			return 0
		}
		passes += time.Since(start)
		for _, seg := range segs {
			for row := range seg.Tokens {
				if err := p.LogitsRow(logits, seg, row); err != nil {
					b.Error(err)
				}
			}
			if err := p.Commit(seg, 1); err != nil {
				b.Error(err)
			}
			if err := p.Settle(seg); err != nil {
				b.Error(err)
			}
			seg.History = append(seg.History, seg.Tokens[0])
		}
	}
	return passes
}

// BenchmarkPrefill is the embedded pack's prefill in chunks of 256.
func BenchmarkPrefill(b *testing.B) {
	m := modeltest.Load(b, modeltest.Nano(b), modeltest.CPU(b, 0))
	for _, n := range []int{512, 2048} {
		b.Run(fmt.Sprintf("T=%d", n), func(b *testing.B) {
			ids := random(m, n)
			r := modeltest.NewRunner(b, m, 256)
			for b.Loop() {
				seq, err := m.NewSequence()
				if err != nil {
					b.Fatal(err)
				}
				r.Seq, r.Ledger = seq, nil
				r.Feed(ids, 256, model.LogitsLast)
				seq.Release()
			}
			r.Seq = nil
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

func random(m *model.Model, n int) []int32 {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rng.Int32N(int32(m.Config.Vocab))
	}
	return ids
}

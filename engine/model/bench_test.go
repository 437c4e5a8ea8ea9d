package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
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

// BenchmarkBatch is a pass of one row each of several sequences, with what it takes to commit them: what a round at depth 0 costs the
// verifier when that many streams run.
func BenchmarkBatch(b *testing.B) {
	m := modeltest.Load(b, modeltest.Nano(b), modeltest.CPU(b, 0))
	for _, streams := range []int{1, 8} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			r := modeltest.NewRunner(b, m, 256)
			logits := make([]float32, m.Config.Vocab)
			segs := make([]*model.Segment, streams)
			for i := range segs {
				s := modeltest.NewRunner(b, m, 256)
				s.Feed(random(m, 200-i), 256, model.LogitsNone)
				segs[i] = s.Segment(random(m, 1), true, model.LogitsAll)
			}
			var pass, commit time.Duration
			for b.Loop() {
				start := time.Now()
				if err := r.Pass.Run(context.Background(), segs); err != nil {
					b.Fatal(err)
				}
				ran := time.Now()
				for _, seg := range segs {
					if err := r.Pass.LogitsRow(logits, seg, 0); err != nil {
						b.Fatal(err)
					}
					if err := r.Pass.Commit(seg, 1); err != nil {
						b.Fatal(err)
					}
					if err := r.Pass.Settle(seg); err != nil {
						b.Fatal(err)
					}
					seg.History = append(seg.History, seg.Tokens...)
				}
				pass += ran.Sub(start)
				commit += time.Since(ran)
			}
			b.ReportMetric(float64(streams*b.N)/b.Elapsed().Seconds(), "tok/s")
			b.ReportMetric(float64(pass.Microseconds())/float64(b.N), "us/pass")
			b.ReportMetric(float64(commit.Microseconds())/float64(b.N), "us/commit")
		})
	}
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

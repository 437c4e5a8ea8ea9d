package mtp_test

import (
	"context"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/state"
)

// drafting drives one sequence through rounds as the actors do.
type drafting struct {
	*modeltest.Runner
	head *mtp.Pass
	kept *state.Kept // rows the head has not seen
}

// newDrafting returns an empty sequence that drafts, with passes of its own.
func newDrafting(t testing.TB, m *model.Model, h *mtp.Head, maxRows int) *drafting {
	t.Helper()
	d := &drafting{Runner: modeltest.NewRunner(t, m, maxRows)}
	var err error
	if d.head, err = h.NewPass(maxRows); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.head.Free)
	if err := h.Attach(d.Seq); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.kept.Free() })
	return d
}

// prefill runs a prompt in chunks, primes the head from all but the last, and returns the last row's logits.
func (d *drafting) prefill(ids []int32, chunk int) []float32 {
	d.T.Helper()
	var logits [][]float32
	for len(ids) > 0 {
		n := min(len(ids), chunk-d.Seq.Len%chunk)
		if d.kept != nil {
			d.prime(ids[0])
		}
		seg := d.Segment(ids[:n], false, model.LogitsLast)
		d.Run(seg)
		logits = modeltest.Logits(d.T, d.Model, d.Pass, seg)
		d.commit(seg, n)
		ids = ids[n:]
	}
	return logits[0]
}

// commit commits a segment and keeps its rows for the head.
func (d *drafting) commit(seg *model.Segment, keep int) {
	d.T.Helper()
	d.Commit(d.Pass, seg, keep)
	if err := d.Pass.Settle(seg); err != nil {
		d.T.Fatal(err)
	}
	d.kept.Free()
	var err error
	if d.kept, err = d.Pass.Keep(seg, 0, keep); err != nil {
		d.T.Fatal(err)
	}
}

// prime runs the kept rows into the head's caches; next is the token after the last of them.
func (d *drafting) prime(next int32) {
	d.T.Helper()
	if err := d.head.Prime(context.Background(), []mtp.Job{d.job(next, 0, nil)}); err != nil {
		d.T.Fatal(err)
	}
}

// job is the kept rows as a job; next is the token after the last of them.
func (d *drafting) job(next int32, depth int, propose func(int, []float32) (int32, error)) mtp.Job {
	return mtp.Job{
		Seq: d.Seq, Kept: d.kept, Depth: depth, Propose: propose,
		Next: append(append([]int32(nil), d.Ledger[d.kept.Pos+1:]...), next),
	}
}

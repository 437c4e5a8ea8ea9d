package model

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/state"
)

// Commit makes the first keep rows of a segment part of its sequence and takes the rest back without a trace
// (spec section 4): the sequence is what it would be had only those rows been run. A segment that is not a draft keeps
// all its rows. Banks are left to their indexers, or to Settle.
func (p *Pass) Commit(seg *Segment, keep int) error {
	s, err := p.find(seg)
	if err != nil {
		return err
	}
	n := s.span.N
	switch {
	case s.closed:
		return fmt.Errorf("%w: committed or aborted already", ErrSegment)
	case keep < 1 || keep > n:
		return fmt.Errorf("%w: commit: got %d rows, want 1 to %d", ErrSegment, keep, n)
	case !seg.Draft && keep != n:
		return fmt.Errorf("%w: commit: got %d rows, want all %d of a segment that is not a draft", ErrSegment, keep, n)
	}
	s.closed = true
	if seg.Draft {
		p.commitDraft(s, keep)
	}
	seg.Seq.Len += keep
	// Other streams, the indexers' and the drafter's, go on from here.
	if err := p.st.Sync(); err != nil {
		return fmt.Errorf("model: commit: %w", err)
	}
	seg.Seq.Done()
	return nil
}

func (p *Pass) commitDraft(s *slot, keep int) {
	seq, n := s.seg.Seq, s.span.N
	seq.Begin()
	for _, l := range p.m.Layers {
		if l.Delta != nil {
			l.Delta.Commit(p.st, p.held[l.Ordinal].mat(s.held, n), n, keep, seq.Recurrent[l.Ordinal], &p.spans)
		}
		if l.Plane != nil {
			l.Plane.Commit(p.st, p.heldPLE[l.Plane.K].mat(s.held, n), n, keep, seq.Planes[l.Plane.K], &p.spans)
		}
	}
}

// Abort gives up a segment's rows. A draft's sequence is as it was before Run. A sequence whose prefill was aborted
// once rows had been run is broken (state.ErrBroken), and its owner rebuilds it. Segments that were committed, or that
// no run ever took, are left alone, so that a caller may abort all it has.
func (p *Pass) Abort(seg *Segment) {
	for i := range p.slots {
		if p.slots[i].seg == seg {
			p.slots[i].closed = true
		}
	}
}

// Settle brings all banks of a segment's sequence up to its length: the stock path of the indexers' work, to the same
// bits. No indexer may be at work on them.
func (p *Pass) Settle(seg *Segment) error {
	for i, ix := range p.m.Indexers {
		c := seg.Seq.Attention[i]
		if _, _, err := c.Bank.Settle(p.pooler, ix, c.RawKeys(), seg.Seq.Len); err != nil {
			return fmt.Errorf("model: bank: %w", err)
		}
	}
	return nil
}

// Keep copies the streams of a segment's rows [from, from+n) for the drafter to catch up with. It may be called after
// Commit, until the next Run. The error wraps metal.ErrMemory when the device is full.
func (p *Pass) Keep(seg *Segment, from, n int) (*state.Kept, error) {
	s, err := p.find(seg)
	if err != nil {
		return nil, err
	}
	if from < 0 || n < 1 || from+n > s.span.N {
		return nil, fmt.Errorf("%w: keep: got rows %d to %d, want some of %d", ErrSegment, from, from+n, s.span.N)
	}
	k, err := p.m.Shelf.Take(s.span.Pos+from, n)
	if err != nil {
		return nil, fmt.Errorf("model: keep %d rows: %w", n, err)
	}
	p.st.CopyRows(k.X, p.x(p.rows).RowsOf(s.span.Row+from, n))
	if err := p.st.Sync(); err != nil { // the drafter reads them on a stream of its own
		k.Free()
		return nil, fmt.Errorf("model: keep: %w", err)
	}
	return k, nil
}

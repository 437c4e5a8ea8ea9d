package model

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// ErrSegment marks a segment that does not fit: its sequence, the pass or the model. Nothing was run.
var ErrSegment = errors.New("model: bad segment")

// SegmentError is an error of one segment of a Run; the others are blameless.
type SegmentError struct {
	Index int // in Run's list
	Seg   *Segment
	Err   error
}

// Error tells which segment and why.
func (e *SegmentError) Error() string { return fmt.Sprintf("segment %d: %v", e.Index, e.Err) }

// Unwrap is the reason.
func (e *SegmentError) Unwrap() error { return e.Err }

// slot is a segment's place in the current pass.
type slot struct {
	seg    *Segment
	span   metal.Span
	held   int // first row in the held buffers (drafts)
	logits int // first row of its logits
	wanted int // rows of logits, the segment's last ones

	gate   *gate.Gate  // of the window it came with
	window *ple.Window // where its planes are, once known
	err    error       // of this segment alone: its rows hold nothing, it can only be aborted
	closed bool        // committed or aborted
}

// find returns the open slot of a segment of the last Run.
func (p *Pass) find(seg *Segment) (*slot, error) {
	for i := range p.slots {
		s := &p.slots[i]
		if s.seg != seg {
			continue
		}
		if s.err != nil {
			return s, s.err
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: not part of the last run", ErrSegment)
}

// admit checks the segments and gives each its rows. It changes nothing but the pass's own lists.
func (p *Pass) admit(segs []*Segment) error {
	p.slots, p.tokens, p.rows = p.slots[:0], p.tokens[:0], 0
	if len(segs) == 0 {
		return fmt.Errorf("%w: got none", ErrSegment)
	}
	if p.Trace != nil && len(segs) > 1 {
		return fmt.Errorf("%w: got %d, want one while tracing", ErrSegment, len(segs))
	}
	held, logits := 0, 0
	for i, seg := range segs {
		if err := p.check(seg, segs[:i]); err != nil {
			p.slots = p.slots[:0]
			return &SegmentError{Index: i, Seg: seg, Err: err}
		}
		n := len(seg.Tokens)
		s := slot{seg: seg, span: metal.Span{Row: p.rows, N: n, Pos: seg.Seq.Len}, held: held, logits: logits}
		switch seg.Logits {
		case LogitsLast:
			s.wanted = 1
		case LogitsAll:
			s.wanted = n
		}
		if seg.Draft {
			held += n
		}
		if seg.Window != nil {
			s.gate = seg.Window.Gate
		}
		logits += s.wanted
		p.rows += n
		p.tokens = append(p.tokens, seg.Tokens...)
		p.slots = append(p.slots, s)
		seg.Counts = Counts{}
	}
	return nil
}

// check says why a segment cannot be run.
func (p *Pass) check(seg *Segment, before []*Segment) error {
	m, n := p.m, len(seg.Tokens)
	if seg.Seq == nil {
		return fmt.Errorf("%w: no sequence", ErrSegment)
	}
	if seg.Seq.Broken() {
		return state.ErrBroken
	}
	if n == 0 {
		return fmt.Errorf("%w: got no tokens", ErrSegment)
	}
	if p.rows+n > p.maxRows {
		return fmt.Errorf("%w: got %d rows in all, want at most %d", ErrSegment, p.rows+n, p.maxRows)
	}
	if end := seg.Seq.Len + n; end > m.Context() {
		return fmt.Errorf("%w: got %d positions, want at most %d (the context)", ErrSegment, end, m.Context())
	}
	if err := m.checkTokens(seg.Tokens); err != nil {
		return fmt.Errorf("%w: %w", ErrSegment, err)
	}
	if want := min(seg.Seq.Len, m.Config.NgramSize-1); len(m.PLE) > 0 && len(seg.History) < want {
		return fmt.Errorf("%w: history: got %d tokens, want at least %d", ErrSegment, len(seg.History), want)
	}
	if len(seg.Banks) > 0 && len(seg.Banks) != len(m.Indexers) {
		return fmt.Errorf("%w: bank gates: got %d, want %d or none", ErrSegment, len(seg.Banks), len(m.Indexers))
	}
	for _, o := range before {
		if o.Seq == seg.Seq {
			return fmt.Errorf("%w: its sequence has another segment in the same run", ErrSegment)
		}
	}
	return nil
}

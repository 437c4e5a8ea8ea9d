package model

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
)

// Run appends each segment's rows to its sequence, side by side, and computes the logits asked for. The caller then
// commits or aborts every segment. ctx is looked at between layers and while waiting.
//
// After an error no segment may be committed; the caller aborts all. A *SegmentError names the segment to blame, if one
// is. A failure to read one segment's n-gram rows does not fail the run: that segment's LogitsRow and Commit return it,
// the others are unharmed.
func (p *Pass) Run(ctx context.Context, segs []*Segment) error {
	p.passes.Add(1)
	p.arena.Reset()
	if err := p.admit(segs); err != nil {
		return err
	}
	if err := p.reserve(ctx); err != nil {
		return err
	}
	for i := range p.slots {
		if s := &p.slots[i]; !s.seg.Draft {
			s.seg.Seq.Begin()
		}
	}
	x := p.embed()
	for _, l := range p.m.Layers {
		if ctx.Err() != nil {
			return fmt.Errorf("model: stopped before layer %d: %w", l.Index, context.Cause(ctx))
		}
		if err := p.runLayer(ctx, p.st, l, x); err != nil {
			return fmt.Errorf("model: layer %d: %w", l.Index, err)
		}
		p.layers.Add(1)
	}
	if n := p.wanted(); n > 0 {
		p.runHead(p.st, x, n)
	}
	if err := p.st.Sync(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

// reserve makes room for all rows before anything is run.
func (p *Pass) reserve(ctx context.Context) error {
	drafted := 0
	for i := range p.slots {
		s := &p.slots[i]
		if s.seg.Draft {
			drafted += s.span.N
		}
		need := s.span.Pos + s.span.N
		if need <= s.seg.Seq.Positions() {
			continue
		}
		// An indexer may be reading the raw keys that are about to move.
		if err := s.seg.waitBanks(ctx); err != nil {
			return err
		}
		if err := s.seg.Seq.ReserveOn(p.st, need); err != nil {
			return &SegmentError{Index: i, Seg: s.seg, Err: err}
		}
	}
	dev := p.m.Device
	if err := p.logits.want(dev, p.wanted()); err != nil {
		return fmt.Errorf("model: logits: %w", err)
	}
	for i := range p.held {
		if err := p.held[i].want(dev, drafted); err != nil {
			return fmt.Errorf("model: drafted rows: %w", err)
		}
	}
	for i := range p.heldPLE {
		if err := p.heldPLE[i].want(dev, drafted); err != nil {
			return fmt.Errorf("model: drafted rows: %w", err)
		}
	}
	return nil
}

// wanted is how many rows of logits are asked for.
func (p *Pass) wanted() int {
	if len(p.slots) == 0 {
		return 0
	}
	s := p.slots[len(p.slots)-1]
	return s.logits + s.wanted
}

// embed sets the streams and the angles of all rows.
func (p *Pass) embed() metal.Mat {
	rotary := p.m.Freq.Rotary()
	for i := range p.slots {
		s := p.slots[i].span
		for j := range s.N {
			at := (s.Row + j) * rotary
			p.m.Freq.Angles(p.cs[at:at+rotary], s.Pos+j)
		}
	}
	p.st.Write(metal.Vec{Buf: p.angles, N: p.rows * rotary}, p.cs[:p.rows*rotary])
	x := p.x(p.rows)
	p.st.Embed(x, p.m.Embed, p.tokens, p.m.Config.Streams)
	p.see("embed", -1, x)
	return x
}

// runLayer runs one layer (spec 2.3) over the streams x. A nil st only measures.
func (p *Pass) runLayer(ctx context.Context, st metal.Stream, l *block.Layer, x metal.Mat) error {
	if l.Plane != nil {
		if err := p.runPlane(ctx, st, l, x); err != nil {
			return err
		}
	}
	mark := p.arena.Mark()
	u, c, y := block.TakeBlock(&p.arena, x, l.MixBlock.Streams)
	block.Mix(st, &p.arena, u, c, x, l.MixBlock)
	if l.Delta != nil {
		p.runDelta(st, l, x, c, y, u)
	} else if err := p.runAttention(ctx, st, l, x, c, y, u); err != nil {
		p.arena.Release(mark)
		return err
	}
	p.arena.Release(mark)
	var see func(metal.Mat)
	if p.Probe != nil {
		see = func(y metal.Mat) { p.see("mlp", l.Index, y) }
	}
	l.MLP(st, &p.arena, x, see)
	if st != nil {
		p.see("layer", l.Index, x)
	}
	return nil
}

func (p *Pass) runDelta(st metal.Stream, l *block.Layer, x, c, y, u metal.Mat) {
	defer p.arena.Release(p.arena.Mark())
	if st == nil {
		l.Delta.Run(nil, &p.arena, x, c, y, u, l.Delta.Take(&p.arena, u.Rows), nil, nil)
		return
	}
	direct := p.allDrafts()
	var rows block.DeltaRows
	if direct {
		rows = p.held[l.Ordinal].mat(0, u.Rows)
	} else {
		rows = l.Delta.Take(&p.arena, u.Rows)
	}
	p.deltas = p.deltas[:0]
	for i := range p.slots {
		s := &p.slots[i]
		p.deltas = append(p.deltas, block.DeltaSpan{Span: s.span, Cache: s.seg.Seq.Recurrent[l.Ordinal], Draft: s.seg.Draft})
	}
	l.Delta.Run(st, &p.arena, x, c, y, u, rows, p.deltas, &p.spans)
	for i := range p.slots {
		if s := &p.slots[i]; s.seg.Draft && !direct {
			p.held[l.Ordinal].mat(s.held, s.span.N).CopyFrom(st, rows.RowsOf(s.span.Row, s.span.N))
		}
	}
	p.see("gdn", l.Index, y)
}

// allDrafts reports whether every row may be taken back, so that the held buffers can serve as the layers' own.
func (p *Pass) allDrafts() bool {
	for i := range p.slots {
		if !p.slots[i].seg.Draft {
			return false
		}
	}
	return true
}

// runHead computes the wanted logits, n rows, from the streams x. A nil st only measures.
func (p *Pass) runHead(st metal.Stream, x metal.Mat, n int) {
	defer p.arena.Release(p.arena.Mark())
	picked, u := p.arena.Floats(n, x.Cols), p.arena.Floats(n, p.m.Config.Hidden)
	if st == nil {
		block.Mix(nil, &p.arena, u, metal.Mat{}, picked, p.m.Final)
		return
	}
	if n == x.Rows {
		picked = x
	} else {
		for i := range p.slots {
			s := &p.slots[i]
			if s.wanted > 0 {
				st.CopyRows(picked.RowsOf(s.logits, s.wanted), x.RowsOf(s.span.Row+s.span.N-s.wanted, s.wanted))
			}
		}
	}
	block.Mix(st, &p.arena, u, metal.Mat{}, picked, p.m.Final)
	p.see("final", -1, u)
	st.Linear(p.logits.mat(0, n), u, p.m.Head)
}

// LogitsRow copies the logits of a segment's row to dst [V]. The row must be one whose logits were asked for.
func (p *Pass) LogitsRow(dst []float32, seg *Segment, row int) error {
	s, err := p.find(seg)
	if err != nil {
		return err
	}
	i := row - (s.span.N - s.wanted)
	if row < 0 || row >= s.span.N || i < 0 {
		return fmt.Errorf("%w: logits of row %d: not computed, want one of the last %d of %d rows", ErrSegment, row, s.wanted, s.span.N)
	}
	return p.st.Read(dst, p.logits.mat(s.logits+i, 1).Row(0))
}

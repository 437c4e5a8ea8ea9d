package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// runPlane adds the PLE plane of a layer, with the window of each segment.
func (p *Pass) runPlane(ctx context.Context, st metal.Stream, l *block.Layer, x metal.Mat) error {
	defer p.arena.Release(p.arena.Mark())
	if st == nil {
		l.Plane.Run(nil, &p.arena, x, p.arena.Floats(x.Rows, x.Cols), nil, nil, nil)
		return nil
	}
	direct := p.allDrafts()
	gn := p.heldPLE[l.Plane.K].mat(0, x.Rows)
	if !direct {
		gn = p.arena.Floats(x.Rows, x.Cols)
	}
	p.planes = p.planes[:0]
	for i := range p.slots {
		s := &p.slots[i]
		if s.window == nil {
			if err := p.takeWindow(ctx, i); err != nil {
				return err
			}
		}
		keys, values := s.window.Plane(l.Plane.K)
		p.planes = append(p.planes, block.PlaneSpan{
			Span: s.span, Draft: s.seg.Draft, Tail: s.seg.Seq.Planes[l.Plane.K],
			Keys: keys.RowsOf(0, s.span.N), Values: values.RowsOf(0, s.span.N),
		})
	}
	var see func(gv, cv metal.Mat)
	if p.Probe != nil {
		see = func(gv, cv metal.Mat) {
			p.see("ple.gate", l.Index, gv)
			p.see("ple.conv", l.Index, cv)
		}
	}
	l.Plane.Run(st, &p.arena, x, gn, p.planes, &p.spans, see)
	for i := range p.slots {
		if s := &p.slots[i]; s.seg.Draft && !direct {
			st.CopyRows(p.heldPLE[l.Plane.K].mat(s.held, s.span.N), gn.RowsOf(s.span.Row, s.span.N))
		}
	}
	return nil
}

// takeWindow finds the window of slot i: the one it came with, once its gate is open, or else one made here.
func (p *Pass) takeWindow(ctx context.Context, i int) error {
	s := &p.slots[i]
	seg := s.seg
	if seg.Window != nil {
		if seg.Ask != nil {
			seg.Ask()
		}
		start, ready := time.Now(), s.gate.Ready()
		err := s.gate.Wait(ctx)
		if !ready {
			seg.WindowWait += time.Since(start)
		}
		if err == nil {
			err = seg.fits(s.span.Pos)
		}
		if err == nil {
			s.window = seg.Window
			seg.Hits++
			return nil
		}
		if ctx.Err() != nil && !s.gate.Ready() {
			return context.Cause(ctx)
		}
		seg.FailOver++
		seg.Reason = err
	}
	w, err := p.ownWindow(i, s.span.N)
	if err != nil {
		return &SegmentError{Index: i, Seg: seg, Err: err}
	}
	w.Reset(seg.History, s.span.Pos)
	w.Push(seg.Tokens...)
	seg.Inline++
	s.window = w
	if err := p.maker.Make(ctx, w, 0, s.span.N); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.err = &SegmentError{Index: i, Seg: seg, Err: err} // its rows hold nothing; the others go on
	}
	return nil
}

// fits checks that the window is of the segment's own rows.
func (seg *Segment) fits(pos int) error {
	w := seg.Window
	if w.Pos() != pos || w.Rows() < len(seg.Tokens) || !slices.Equal(w.Tokens()[:len(seg.Tokens)], seg.Tokens) {
		return fmt.Errorf("model: window of %d rows at position %d is not of the segment's %d rows at position %d",
			w.Rows(), w.Pos(), len(seg.Tokens), pos)
	}
	return nil
}

// ownWindow is the pass's window for slot i, with room for n rows.
func (p *Pass) ownWindow(i, n int) (*ple.Window, error) {
	for len(p.windows) <= i {
		p.windows = append(p.windows, nil)
	}
	if w := p.windows[i]; w != nil {
		if w.Max() >= n {
			return w, nil
		}
		w.Free()
		p.windows[i] = nil
	}
	size := 1
	for size < n {
		size *= 2
	}
	w, err := ple.NewWindow(p.m.Device, p.m.PLE, min(size, p.maxRows))
	if err != nil {
		return nil, err
	}
	p.windows[i] = w
	return w, nil
}

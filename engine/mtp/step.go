package mtp

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// step runs the rows of p.steps, whose streams are src row by row and whose next tokens are p.tokens, into the caches at
// the spans' positions. With answers it goes on to compute out for the last row of each span.
func (p *Pass) step(ctx context.Context, answers bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mtp: stopped: %w", context.Cause(ctx))
	}
	p.arena.Reset()
	p.rows, p.ends = p.rows[:0], p.ends[:0]
	rows, rotary := 0, p.h.freq.Rotary()
	for i := range p.steps {
		s := &p.steps[i]
		c := s.job.Seq.MTP
		if err := c.Reserve(p.st, s.Pos, s.Pos+s.N); err != nil {
			return fmt.Errorf("mtp: %w", err)
		}
		for j := range s.N {
			at := (s.Row + j) * rotary
			p.h.freq.Angles(p.cs[at:at+rotary], s.Pos+j)
		}
		p.rows = append(p.rows, block.AttentionSpan{Span: s.Span, Cache: &c.Attention})
		last := metal.Span{Row: i, N: 1, Pos: s.Pos + s.N - 1}
		p.ends = append(p.ends, block.AttentionSpan{Span: last, Cache: &c.Attention})
		p.st.CopyRows(mat(p.in, p.maxRows, s.src.Cols).RowsOf(s.Row, s.N), s.src)
		rows += s.N
	}
	p.st.Write(metal.Vec{Buf: p.angles, N: rows * rotary}, p.cs[:rows*rotary])
	wanted := 0
	if answers {
		wanted = len(p.steps)
	}
	if err := p.layer(p.st, rows, wanted); err != nil {
		return fmt.Errorf("mtp: %w", err)
	}
	p.layers.Add(1)
	return nil
}

// layer builds Z from p.in and p.tokens (spec 3.1) and runs the layer: what all rows leave in the caches, and for the
// last row of each span, wanted in all, its answer in p.out. A nil st only measures.
func (p *Pass) layer(st metal.Stream, rows, wanted int) error {
	defer p.arena.Release(p.arena.Mark())
	h, l, a := p.h, p.h.layer, &p.arena
	cfg := &h.m.Config
	rotary := h.freq.Rotary()
	z, angles := mat(p.z, rows, cfg.Width()), mat(p.angles, rows, rotary)
	p.inputs(st, z)
	u, c, _ := block.TakeBlock(a, z, cfg.Streams)
	index := l.Attention.TakeIndex(a, rows)
	block.Mix(st, a, u, c, z, l.MixBlock)
	l.Attention.Append(st, a, index, u, angles, p.rows, &p.spans)
	if wanted == 0 {
		return nil
	}
	x, picked := mat(p.out, wanted, cfg.Width()), mat(p.picked, wanted, rotary)
	u1, c1, y1 := block.TakeBlock(a, x, cfg.Streams)
	index1, sel := l.Attention.TakeIndex(a, wanted), l.Attention.TakeSelection(a, wanted)
	if st != nil {
		for i, s := range p.rows {
			last := s.Row + s.N - 1
			st.CopyRows(x.RowsOf(i, 1), z.RowsOf(last, 1))
			st.CopyRows(u1.RowsOf(i, 1), u.RowsOf(last, 1))
			st.CopyRows(c1.RowsOf(i, 1), c.RowsOf(last, 1))
			st.CopyRows(index1.RowsOf(i, 1), index.RowsOf(last, 1))
			st.CopyRows(picked.RowsOf(i, 1), angles.RowsOf(last, 1))
		}
	}
	if err := l.Attention.Read(st, a, x, c1, y1, u1, index1, picked, sel, p.ends, &p.spans, p.pooled); err != nil {
		return err
	}
	l.MLP(st, a, x, nil)
	return nil
}

// inputs sets z [R, W] to fc_hidden of the normed streams plus fc_embedding of the normed embedding (spec 3.1).
func (p *Pass) inputs(st metal.Stream, z metal.Mat) {
	defer p.arena.Release(p.arena.Mark())
	h, cfg := p.h, &p.h.m.Config
	e, ev := p.arena.Floats(z.Rows, cfg.Hidden), p.arena.Floats(z.Rows, cfg.Hidden)
	if st == nil {
		return
	}
	in := mat(p.in, z.Rows, z.Cols)
	st.Embed(e, h.m.Embed, p.tokens, 1)
	st.Norm(e, e, h.normEmbed, 1, cfg.Eps)
	st.Linear(ev, e, h.fcEmbed)
	st.Norm(in, in, h.normHidden, 1, cfg.Eps)
	st.Linear(z.Split(cfg.Streams), in.Split(cfg.Streams), h.fcHidden)
	st.AddStreams(z, ev)
}

// pooled makes ready the banks of the sequences that must choose blocks. The drafter owns them: they may hold blocks of
// the chain, which are dropped at its end.
func (p *Pass) pooled(sparse []int) error {
	ix := p.h.layer.Attention.Indexer
	p.jobs = p.jobs[:0]
	for _, i := range sparse {
		e := p.ends[i]
		p.jobs = append(p.jobs, qsa.Job{Bank: e.Cache.Bank, Raw: e.Cache.RawKeys(), Len: e.Pos, N: 1})
	}
	if _, _, err := p.pooler.Settle(ix, p.jobs...); err != nil {
		return err
	}
	return p.pooler.PoolScratch(ix, p.jobs...)
}

// answer computes the draft logits of the first n rows of p.out. A nil st only measures.
func (p *Pass) answer(st metal.Stream, n int) {
	defer p.arena.Release(p.arena.Mark())
	cfg := &p.h.m.Config
	u, x := p.arena.Floats(n, cfg.Hidden), mat(p.out, n, cfg.Width())
	block.Mix(st, &p.arena, u, metal.Mat{}, x, p.h.mixer)
	if st != nil {
		st.Linear(mat(p.logits, n, cfg.Vocab), u, p.h.m.Head)
	}
}

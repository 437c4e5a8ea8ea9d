package model

import (
	"context"
	"time"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

func (p *Pass) runAttention(ctx context.Context, st metal.Stream, l *block.Layer, x, c, y, u metal.Mat) error {
	defer p.arena.Release(p.arena.Mark())
	t := l.Attention
	index, sel := t.TakeIndex(&p.arena, u.Rows), t.TakeSelection(&p.arena, u.Rows)
	rotary := p.m.Freq.Rotary()
	angles := metal.Mat{Buf: p.angles, Rows: u.Rows, Cols: rotary, Stride: rotary}
	if st == nil {
		t.Append(nil, &p.arena, index, u, angles, nil, nil)
		return t.Read(nil, &p.arena, x, c, y, u, index, angles, sel, nil, nil, nil)
	}
	p.attends = p.attends[:0]
	for i := range p.slots {
		s := &p.slots[i]
		p.attends = append(p.attends, block.AttentionSpan{Span: s.span, Cache: s.seg.Seq.Attention[l.Ordinal]})
	}
	t.Append(st, &p.arena, index, u, angles, p.attends, &p.spans)
	err := t.Read(st, &p.arena, x, c, y, u, index, angles, sel, p.attends, &p.spans, func(sparse []int) error {
		return p.pooled(ctx, sparse, l)
	})
	if err != nil {
		return err
	}
	p.see("attn", l.Index, y)
	return p.traceBlocks(l, sel)
}

// pooled makes ready the banks of the slots that must choose blocks, and pools the blocks that their rows complete.
func (p *Pass) pooled(ctx context.Context, sparse []int, l *block.Layer) error {
	ix := l.Attention.Indexer
	p.jobs = p.jobs[:0]
	for _, i := range sparse {
		s := &p.slots[i]
		if err := p.settled(ctx, s, l); err != nil {
			return err
		}
		c := s.seg.Seq.Attention[l.Ordinal]
		p.jobs = append(p.jobs, qsa.Job{Bank: c.Bank, Raw: c.RawKeys(), Len: s.span.Pos, N: s.span.N})
	}
	return p.pooler.PoolScratch(ix, p.jobs...)
}

// settled sees to it that the bank of a segment holds the blocks before its rows. It waits for the bank's gate, if there
// is one; when that fails, or the bank is behind, it settles the bank itself.
func (p *Pass) settled(ctx context.Context, s *slot, l *block.Layer) error {
	seg, cache, ix := s.seg, s.seg.Seq.Attention[l.Ordinal], l.Attention.Indexer
	promised := len(seg.Banks) > 0 && seg.Banks[l.Ordinal] != nil
	if promised {
		g := seg.Banks[l.Ordinal]
		start := time.Now()
		err := g.Wait(ctx)
		seg.BankWait += time.Since(start)
		if err != nil {
			if ctx.Err() != nil && !g.Ready() {
				return context.Cause(ctx)
			}
			seg.Reason = err
		}
	}
	if cache.Bank.Blocks == ix.Complete(s.span.Pos) {
		seg.Settled++
		return nil
	}
	if promised {
		seg.FailOver++
	}
	seg.Pooled++
	_, _, err := cache.Bank.Settle(p.pooler, ix, cache.RawKeys(), s.span.Pos)
	return err
}

// waitBanks waits until no indexer is at work on the segment's banks, whatever came of it.
func (seg *Segment) waitBanks(ctx context.Context) error {
	for _, g := range seg.Banks {
		if g == nil {
			continue
		}
		if err := g.Wait(ctx); err != nil && ctx.Err() != nil && !g.Ready() {
			return context.Cause(ctx)
		}
	}
	return nil
}

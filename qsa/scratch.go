package qsa

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Job is one sequence's part of a call that pools for several sequences at one layer.
type Job struct {
	Bank *Bank
	Raw  metal.Vec // raw index keys of all positions from 0, [positions, Dim]
	Len  int       // PoolScratch: committed positions before the pass; Settle: committed positions
	N    int       // PoolScratch: rows of the pass; Settle: not used
}

// PoolScratch pools the blocks that rows length..length+n-1 complete (at most MaxNew(n), for any n and any residue of
// length) into scratch, from raw, where the rows' raw keys are already. It queues on p's stream. The bank itself does not
// change: whether the rows are kept is not known yet.
//
// While [Geometry.Dense](length+n) holds nothing is scored: the call does nothing and does not look at the bank, which its
// indexer may still be working on. Every other pass must call it before it selects. Errors wrap metal.ErrMemory.
func (b *Bank) PoolScratch(p *Pooler, ix *Indexer, raw metal.Vec, length, n int) error {
	return p.PoolScratch(ix, Job{Bank: b, Raw: raw, Len: length, N: n})
}

// PoolScratch is [Bank.PoolScratch] for several sequences in one op.
func (p *Pooler) PoolScratch(ix *Indexer, jobs ...Job) error {
	for i := range jobs {
		if err := p.scratch(ix, &jobs[i]); err != nil {
			p.spans = p.spans[:0]
			p.dropScratch(ix, jobs[:i])
			return err
		}
	}
	if err := p.run(ix); err != nil {
		p.dropScratch(ix, jobs)
		return err
	}
	return nil
}

// dropScratch takes back what scratch noted: it was described, but not pooled.
func (p *Pooler) dropScratch(ix *Indexer, jobs []Job) {
	for i := range jobs {
		if !ix.Dense(jobs[i].Len + jobs[i].N) {
			jobs[i].Bank.fresh = 0
		}
	}
}

// scratch queues one sequence's blocks and notes what scratch will hold.
func (p *Pooler) scratch(ix *Indexer, j *Job) error {
	if ix.Dense(j.Len + j.N) {
		return nil
	}
	b := j.Bank
	b.check("PoolScratch", ix, j.Raw, j.Len+j.N)
	b.fresh = 0
	if err := b.GrowScratch(p.stream, j.N); err != nil {
		return fmt.Errorf("layer %d: %w", ix.Layer, err)
	}
	first := ix.Complete(j.Len)
	n := ix.Complete(j.Len+j.N) - first
	p.add(j.Raw, first, n, b.Scratch.RowsOf(0, n))
	b.scratchPos, b.fresh = first, n
	b.passFrom, b.passTo = j.Len, j.Len+j.N
	return nil
}

// check panics on arguments that cannot belong to this bank.
func (b *Bank) check(op string, ix *Indexer, raw metal.Vec, positions int) {
	if b.geometry != ix.Geometry || b.Keys.Buf == nil {
		panic(fmt.Sprintf("qsa: %s: got a bank of %+v, want %+v of layer %d", op, b.geometry, ix.Geometry, ix.Layer))
	}
	if raw.N < ix.Complete(positions)*ix.Ratio*ix.Dim {
		panic(fmt.Sprintf("qsa: %s: got %d raw values, want the keys of %d positions of %d", op, raw.N, positions, ix.Dim))
	}
}

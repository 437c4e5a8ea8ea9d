package qsa

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Settle brings the bank to the complete blocks of the first committed positions and waits until the device is done, so
// that other streams may read it. Blocks whose rows were kept from the last pass are selected from scratch (kept); others
// are pooled from the raw keys (pooled); both have the same bits. A bank that had more blocks is cut. Calling it again
// changes nothing. Scratch is consumed: what it still holds belongs to rejected rows.
//
// Only complete blocks are written, after one pass at most MaxNew(rows). On an error (metal.ErrMemory, or a device error)
// the bank has the blocks it had and the call may be made again.
func (b *Bank) Settle(p *Pooler, ix *Indexer, raw metal.Vec, committed int) (kept, pooled int, err error) {
	return p.Settle(ix, Job{Bank: b, Raw: raw, Len: committed})
}

// Settle is [Bank.Settle] for several sequences with one pool op and one wait. On an error none of the banks has new
// blocks.
func (p *Pooler) Settle(ix *Indexer, jobs ...Job) (kept, pooled int, err error) {
	for i := range jobs {
		k, n, err := p.settle(ix, &jobs[i])
		if err != nil {
			p.spans = p.spans[:0]
			return 0, 0, err
		}
		kept, pooled = kept+k, pooled+n
	}
	if err := p.run(ix); err != nil {
		return 0, 0, err
	}
	if kept+pooled > 0 {
		if err := p.stream.Sync(); err != nil {
			return 0, 0, fmt.Errorf("qsa: layer %d: settle: %w", ix.Layer, err)
		}
	}
	for i := range jobs {
		b := jobs[i].Bank
		b.Blocks, b.fresh = ix.Complete(jobs[i].Len), 0
	}
	return kept, pooled, nil
}

// settle queues what one bank lacks.
func (p *Pooler) settle(ix *Indexer, j *Job) (selected, pooled int, err error) {
	b := j.Bank
	b.check("Settle", ix, j.Raw, j.Len)
	want := ix.Complete(j.Len)
	if want <= b.Blocks {
		return 0, 0, nil
	}
	if want > b.Keys.Rows {
		if err := b.Grow(p.stream, max(want, 2*b.Keys.Rows)); err != nil {
			return 0, 0, fmt.Errorf("layer %d: %w", ix.Layer, err)
		}
	}
	from, kept := b.keeps(j.Len, want)
	if kept > 0 {
		b.rowsel(p.stream, from, kept)
	}
	// Blocks before and after the selected rows.
	p.add(j.Raw, b.Blocks, from-b.Blocks, b.Keys.RowsOf(b.Blocks, from-b.Blocks))
	rest := from + kept
	p.add(j.Raw, rest, want-rest, b.Keys.RowsOf(rest, want-rest))
	return kept, want - b.Blocks - kept, nil
}

// keeps lists the blocks that may be selected from scratch: kept of them, from block from on (from is want if there are
// none). They are those that the last pooled pass completed with rows that are committed now.
//
// Blocks below Top are left out: a pass that completes one may be dense and leave scratch alone, so an older pass,
// rejected since, could be what scratch still shows of it. A pass that completes a later block is never dense and has
// pooled it again.
func (b *Bank) keeps(committed, want int) (from, kept int) {
	if b.fresh == 0 || committed <= b.passFrom || committed > b.passTo {
		return want, 0
	}
	from = max(b.scratchPos, b.Blocks, b.geometry.Top())
	kept = min(b.scratchPos+b.fresh, want) - from
	if kept <= 0 {
		return want, 0
	}
	return from, kept
}

// rowsel copies n scratch rows into the bank, from block first on.
func (b *Bank) rowsel(st metal.Stream, first, n int) {
	dim := b.geometry.Dim
	st.Copy(metal.Vec{Buf: b.Keys.Buf, Off: first * dim, N: n * dim}, metal.Vec{Buf: b.Scratch.Buf, Off: (first - b.scratchPos) * dim, N: n * dim})
}

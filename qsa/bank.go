package qsa

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Bank is the pooled keys of one sequence at one attention layer. It has one owner at a time (the layer's indexer from a
// commit until it has settled, else the pass) and no lock. Fields are for reading; only the methods change them.
//
// Keys holds the committed blocks 0..Blocks-1; rows above are garbage. Scratch holds the blocks that the rows of the last
// pass completed, from block Blocks on, committed or not; it is consumed by Settle.
type Bank struct {
	Keys    metal.Mat // [cap, Dim]
	Scratch metal.Mat // [capS, Dim]
	Blocks  int       // committed blocks

	geometry Geometry
	dev      metal.Device

	fresh      int // blocks in Scratch, of the pass over rows passFrom..passTo-1
	passFrom   int
	passTo     int
	scratchPos int // first block in Scratch
}

// minBlocks is the room a new bank has, so that a view of it always has memory behind it.
const minBlocks = 4

// NewBank allocates an empty bank. Errors wrap metal.ErrMemory.
func NewBank(dev metal.Device, g Geometry) (*Bank, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	b := &Bank{geometry: g, dev: dev}
	keys, err := dev.Alloc(metal.F32, minBlocks*g.Dim)
	if err != nil {
		return nil, fmt.Errorf("qsa: new bank: %w", err)
	}
	scratch, err := dev.Alloc(metal.F32, minBlocks*g.Dim)
	if err != nil {
		keys.Free()
		return nil, fmt.Errorf("qsa: new bank: scratch: %w", err)
	}
	b.Keys, b.Scratch = metal.NewMat(keys, minBlocks, g.Dim), metal.NewMat(scratch, minBlocks, g.Dim)
	return b, nil
}

// Geometry is what the bank was made for.
func (b *Bank) Geometry() Geometry { return b.geometry }

// Bytes is the device memory held.
func (b *Bank) Bytes() int64 {
	return 4 * int64(b.geometry.Dim) * int64(b.Keys.Rows+b.Scratch.Rows)
}

// Free releases the memory. The bank is not usable afterwards.
func (b *Bank) Free() {
	if b.Keys.Buf != nil {
		b.Keys.Buf.Free()
		b.Scratch.Buf.Free()
	}
	b.Keys, b.Scratch, b.Blocks, b.fresh = metal.Mat{}, metal.Mat{}, 0, 0
}

// Grow makes room for so many committed blocks; a bank never shrinks. It waits for st when it moves blocks, because the
// old memory is freed. On an error (wrapping metal.ErrMemory) nothing has changed. Callers that grow step by step pass
// doubled sizes; growth by Settle doubles by itself.
func (b *Bank) Grow(st metal.Stream, blocks int) error {
	if blocks <= b.Keys.Rows {
		return nil
	}
	grown, err := b.enlarge(st, b.Keys, b.Blocks, blocks)
	if err != nil {
		return fmt.Errorf("qsa: bank of %d blocks: %w", blocks, err)
	}
	b.Keys = grown
	return nil
}

// GrowScratch makes room for the blocks that a pass of rows rows can complete. What scratch holds stays. Errors as Grow.
func (b *Bank) GrowScratch(st metal.Stream, rows int) error {
	blocks := b.geometry.MaxNew(rows)
	if blocks <= b.Scratch.Rows {
		return nil
	}
	grown, err := b.enlarge(st, b.Scratch, b.fresh, blocks)
	if err != nil {
		return fmt.Errorf("qsa: scratch of %d blocks: %w", blocks, err)
	}
	b.Scratch = grown
	return nil
}

// enlarge moves the first used rows of m to new memory of rows rows and frees the old.
func (b *Bank) enlarge(st metal.Stream, m metal.Mat, used, rows int) (metal.Mat, error) {
	buf, err := b.dev.Alloc(metal.F32, rows*m.Cols)
	if err != nil {
		return m, err
	}
	if used > 0 {
		st.Copy(metal.Vec{Buf: buf, N: used * m.Cols}, metal.Vec{Buf: m.Buf, N: used * m.Cols})
	}
	// Also with nothing to move: queued work may still read or write the old memory.
	if err := st.Sync(); err != nil {
		buf.Free()
		return m, err
	}
	m.Buf.Free()
	return metal.NewMat(buf, rows, m.Cols), nil
}

// Truncate drops the blocks from n on, and what scratch holds.
func (b *Bank) Truncate(n int) {
	b.Blocks = min(b.Blocks, n)
	b.fresh = 0
}

// SelectSpan is the bank's part of a Select over the rows of span: committed blocks from the bank, the ones that the rows
// complete from scratch. Where no row has to choose ([Geometry.Dense] of the last) the span stands alone: the bank is not
// looked at, its indexer may still be working on it. Else the bank must be settled up to span.Pos, and PoolScratch called
// for the span's rows; a breach is ours and panics, for it would choose among stale keys.
func (b *Bank) SelectSpan(span metal.Span) metal.SelectSpan {
	g := b.geometry
	if g.Dense(span.Pos + span.N) {
		return metal.SelectSpan{Span: span}
	}
	if b.Blocks != g.Complete(span.Pos) || b.Blocks+b.fresh < g.Complete(span.Pos+span.N) ||
		b.fresh > 0 && b.scratchPos != b.Blocks {
		panic(fmt.Sprintf("qsa: SelectSpan: rows %d to %d: got %d settled blocks and %d from %d in scratch, want %d and up to %d",
			span.Pos, span.Pos+span.N, b.Blocks, b.fresh, b.scratchPos, g.Complete(span.Pos), g.Complete(span.Pos+span.N)))
	}
	return metal.SelectSpan{
		Span:    span,
		Bank:    metal.Vec{Buf: b.Keys.Buf, N: b.Keys.Rows * g.Dim},
		Blocks:  b.Blocks,
		Scratch: metal.Vec{Buf: b.Scratch.Buf, N: b.Scratch.Rows * g.Dim},
	}
}

// CopyFrom makes the bank hold the first n committed blocks of src, of the same geometry; for snapshots. It queues on st.
// On an error (wrapping metal.ErrMemory) nothing has changed.
func (b *Bank) CopyFrom(st metal.Stream, src *Bank, n int) error {
	if src.geometry != b.geometry || n > src.Blocks {
		panic(fmt.Sprintf("qsa: CopyFrom: got %d of %d blocks of %+v, want them in a bank of %+v", n, src.Blocks, src.geometry, b.geometry))
	}
	if err := b.Grow(st, n); err != nil {
		return err
	}
	if n > 0 {
		dim := b.geometry.Dim
		st.Copy(metal.Vec{Buf: b.Keys.Buf, N: n * dim}, metal.Vec{Buf: src.Keys.Buf, N: n * dim})
	}
	b.Blocks, b.fresh = n, 0
	return nil
}

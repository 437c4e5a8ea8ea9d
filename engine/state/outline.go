package state

import (
	"fmt"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// Outline is what there is to know of a snapshot besides its bits, for stores. The parts of its memory are numbered: 0 is
// the states with the kept streams, then come Rows, then DraftRows.
type Outline struct {
	Len, Prompt, Drafted int

	Rows      []Run           // rows of the trunk's attention layers, from 0, without gaps
	DraftRows []Run           // rows of the MTP caches; empty: it cannot draft
	Head      *AttentionShape // of the MTP caches
	Width     int             // of the kept streams
}

// Run is rows [From, To) of a group of attention layers, with the pooled blocks up to Blocks[i] of layer i that the runs
// before do not have.
type Run struct {
	From, To int
	Blocks   []int
}

// Parts is how many parts there are.
func (o *Outline) Parts() int { return 1 + len(o.Rows) + len(o.DraftRows) }

// Outline describes the snapshot.
func (s *Snapshot) Outline() Outline {
	o := Outline{Len: s.Len, Prompt: s.Prompt, Drafted: s.Drafted, Rows: s.rows.runs()}
	if d := s.drafts; d != nil {
		head := d.shape
		o.DraftRows, o.Head, o.Width = d.rows.runs(), &head, d.width
	}
	return o
}

// chain is a stretch and its ancestors, the oldest first.
func (s *stretch) chain() []*stretch {
	var out []*stretch
	for ; s != nil; s = s.parent {
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}

func (s *stretch) runs() []Run {
	var out []Run
	for _, r := range s.chain() {
		out = append(out, Run{From: r.from, To: r.to, Blocks: slices.Clone(r.blocks)})
	}
	return out
}

// block is the memory of a part.
func (s *Snapshot) part(i int) *block {
	if i == 0 {
		return &s.fixed
	}
	all := s.rows.chain()
	if s.drafts != nil {
		all = append(all, s.drafts.rows.chain()...)
	}
	return &all[i-1].block
}

// Floats is the size of each part.
func (s *Snapshot) Floats() []int {
	out := make([]int, 0, 8)
	o := s.Outline()
	for i := range o.Parts() {
		out = append(out, int(s.part(i).bytes()/4))
	}
	return out
}

// ReadPart copies values [off, off+len(dst)) of a part to the host; it waits for st.
func (s *Snapshot) ReadPart(st metal.Stream, part, off int, dst []float32) error {
	return st.Read(dst, metal.Vec{Buf: s.part(part).buf, Off: off, N: len(dst)})
}

// mostValues is the most values of one row that an outline may claim: far above any model's.
const mostValues = 1 << 24

// check says what of an outline does not fit a shape. It comes before anything is allocated.
func (o *Outline) check(shape *Shape) error {
	bad := func(field string, got, want any) error {
		return fmt.Errorf("%w: outline: %s: got %v, want %v", ErrSnapshot, field, got, want)
	}
	switch {
	case o.Len < 1 || o.Len > shape.Positions:
		return bad("positions", o.Len, fmt.Sprintf("1 to %d", shape.Positions))
	case o.Prompt < 0 || o.Prompt > o.Len:
		return bad("prompt positions", o.Prompt, fmt.Sprintf("0 to %d", o.Len))
	}
	if err := checkRuns("rows", o.Rows, shape.Attention, o.Len); err != nil {
		return err
	}
	if len(o.DraftRows) == 0 {
		if o.Drafted != 0 || o.Width != 0 {
			return bad("drafted rows and width", fmt.Sprint(o.Drafted, o.Width), "0: it cannot draft")
		}
		return nil
	}
	switch {
	case o.Head == nil || o.Head.Width < 1 || o.Head.Width > mostValues || o.Head.Index.Dim > mostValues || o.Head.Index.Validate() != nil:
		return bad("shape of the MTP caches", o.Head, "a valid one")
	case o.Width < 1 || o.Width > mostValues:
		return bad("width", o.Width, "that of the streams")
	case o.Drafted < 0 || o.Drafted >= o.Len:
		return bad("drafted rows", o.Drafted, fmt.Sprintf("0 to %d", o.Len-1))
	}
	return checkRuns("drafted rows", o.DraftRows, []AttentionShape{*o.Head}, o.Drafted)
}

func checkRuns(name string, runs []Run, layers []AttentionShape, to int) error {
	at, blocks := 0, make([]int, len(layers))
	for i, r := range runs {
		if r.From != at || r.To < r.From || r.To > to || len(r.Blocks) != len(layers) {
			return fmt.Errorf("%w: outline: %s: run %d: got %d to %d of %d layers, want %d to %d at most of %d",
				ErrSnapshot, name, i, r.From, r.To, len(r.Blocks), at, to, len(layers))
		}
		for l, n := range r.Blocks {
			if n < blocks[l] || n > layers[l].Index.Complete(r.To) {
				return fmt.Errorf("%w: outline: %s: run %d, layer %d: got %d blocks, want %d to %d",
					ErrSnapshot, name, i, l, n, blocks[l], layers[l].Index.Complete(r.To))
			}
		}
		at, blocks = r.To, r.Blocks
	}
	if at != to || len(runs) == 0 {
		return fmt.Errorf("%w: outline: %s: got them up to %d, want %d", ErrSnapshot, name, at, to)
	}
	return nil
}

// RebuildOptions of a snapshot made from a store.
type RebuildOptions struct {
	Parent  *Snapshot // of a prefix, with the same classes: runs that it has are shared and not read
	Account Account
	// Read fills dst with the values of a part from off on. Parts are read in order, each from 0 to its end.
	Read func(part, off int, dst []float32) error
	// Chunk is the most values asked for at once; 0 means 64Ki.
	Chunk int
}

// Rebuild makes a snapshot out of its outline and what o.Read tells. The outline is checked before anything is allocated.
// Errors wrap metal.ErrMemory, ErrSnapshot or what Read returned, and leave nothing allocated.
func Rebuild(st metal.Stream, shape *Shape, dev metal.Device, o Outline, r RebuildOptions) (*Snapshot, error) {
	if err := o.check(shape); err != nil {
		return nil, err
	}
	if r.Parent != nil {
		if err := r.Parent.fits(shape, dev); err != nil {
			return nil, fmt.Errorf("parent: %w", err)
		}
	}
	s := &Snapshot{Len: o.Len, Prompt: o.Prompt, Drafted: o.Drafted, Kind: dev.Info().Kind, shape: shape, dev: dev}
	s.refs.Store(1)
	if err := settled(st, s.rebuild(st, &o, &r)); err != nil {
		s.free()
		return nil, fmt.Errorf("state: rebuild snapshot of %d positions: %w", o.Len, err)
	}
	return s, nil
}

func (s *Snapshot) rebuild(st metal.Stream, o *Outline, r *RebuildOptions) error {
	fixed := s.shape.fixedFloats()
	if len(o.DraftRows) > 0 {
		fixed += (o.Len - o.Drafted) * o.Width
	}
	b := books{r.Account}
	if err := b.take(fixed); err != nil {
		return err
	}
	var err error
	if s.fixed, err = newBlock(s.dev, b, fixed); err != nil {
		return err
	}
	s.own += s.fixed.bytes()
	if err := s.fixed.read(st, 0, r); err != nil {
		return err
	}
	var rows, drafts *stretch
	if p := r.Parent; p != nil {
		rows = p.rows
		if p.drafts != nil {
			drafts = p.drafts.rows
		}
	}
	if s.rows, err = s.rebuildRuns(st, o.Rows, s.shape.Attention, rows, 1, r); err != nil || len(o.DraftRows) == 0 {
		return err
	}
	s.drafts = &draftPart{shape: *o.Head, limit: s.shape.Positions, width: o.Width}
	s.drafts.rows, err = s.rebuildRuns(st, o.DraftRows, []AttentionShape{*o.Head}, drafts, 1+len(o.Rows), r)
	return err
}

// rebuildRuns makes the stretches of runs, the first of which is part number part, and returns the last, which holds the
// others. What of shared is one of the runs' own is taken for them.
func (s *Snapshot) rebuildRuns(st metal.Stream, runs []Run, layers []AttentionShape, shared *stretch, part int, r *RebuildOptions) (*stretch, error) {
	var last *stretch
	first := 0
	for ; shared != nil && last == nil; shared = shared.parent {
		for i, run := range runs {
			if run.To == shared.to && slices.Equal(run.Blocks, shared.blocks) {
				last, first = shared, i+1
			}
		}
	}
	if last != nil {
		last.refs.Add(1)
	}
	for i := first; i < len(runs); i++ {
		next := after(last, layers, runs[i].To, slices.Clone(runs[i].Blocks))
		err := books{r.Account}.take(next.floats())
		if err == nil {
			err = next.alloc(s.dev, books{r.Account})
		}
		if err != nil {
			last.release()
			return nil, err
		}
		last.release() // next holds it
		last = next
		s.own += next.block.bytes()
		if err := next.block.read(st, part+i, r); err != nil {
			last.release()
			return nil, err
		}
	}
	return last, nil
}

// read fills a block from a store.
func (b *block) read(st metal.Stream, part int, r *RebuildOptions) error {
	if b.buf == nil {
		return nil
	}
	chunk := r.Chunk
	if chunk < 1 {
		chunk = 64 << 10
	}
	host := make([]float32, min(chunk, b.buf.Len()))
	for off := 0; off < b.buf.Len(); off += chunk {
		n := min(chunk, b.buf.Len()-off)
		if err := r.Read(part, off, host[:n]); err != nil {
			return err
		}
		st.Write(metal.Vec{Buf: b.buf, Off: off, N: n}, host[:n])
		if err := st.Sync(); err != nil { // host is used again
			return err
		}
	}
	return nil
}

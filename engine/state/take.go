package state

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// TakeOptions of a new snapshot.
type TakeOptions struct {
	// Parent, if set, is a snapshot of a prefix of the sequence's tokens, with the same classes of positions; its rows are
	// shared. The caller holds a reference to it for the call; the new snapshot does not need it afterwards.
	Parent *Snapshot
	// Prompt is how many of the sequence's positions are of the prompt class.
	Prompt int
	// Kept is the trunk's streams of the sequence's last rows, up to row Len-1, as model.Pass.Keep gave them; without them
	// the snapshot cannot draft. They are copied: the caller keeps what it has.
	Kept *Kept
	// Account is asked for the memory; nil counts nothing.
	Account Account
}

// Take copies what seq holds at its committed length. It waits for st, on which it queues the copies. The caller owns the
// trunk caches, the banks (their indexers are done) and the MTP caches for the call. Blocks that a bank lacks, because its
// indexer failed, are left out; a restored sequence pools them as the original would have.
//
// If the sequence has MTP caches and o.Kept is given, the snapshot can draft. Where the drafter is behind, o.Kept must have
// all rows that it has not seen. Errors wrap metal.ErrMemory, ErrBroken or ErrSnapshot and leave nothing allocated.
func Take(st metal.Stream, seq *Sequence, o TakeOptions) (*Snapshot, error) {
	if seq.MTP == nil {
		o.Kept = nil
	}
	streams := 1
	if o.Kept != nil {
		streams = max(1, seq.Len-max(seq.MTP.Len, o.Parent.drafted()))
	}
	p, err := begin(st, seq, o, streams)
	if err != nil {
		return nil, err
	}
	return p.Finish(st, seq.MTP)
}

// drafted is how many rows of MTP caches a parent brings.
func (s *Snapshot) drafted() int {
	if s == nil {
		return 0
	}
	return s.Drafted
}

// Partial is a snapshot that lacks the drafter's part: see Begin.
type Partial struct {
	s       *Snapshot
	parent  *stretch // rows of MTP caches it may stand on; claimed
	streams int      // rows of streams copied
	width   int
	books   books
	done    bool
}

// Begin is the first half of Take, for the owner of the trunk caches: it copies everything but the MTP caches, which the
// drafter may be working on, and row Len-1 of o.Kept. The drafter makes it whole with Finish once it has primed row Len-2,
// however much further it and the trunk are by then. Whoever has a Partial must call Finish or Discard.
func Begin(st metal.Stream, seq *Sequence, o TakeOptions) (*Partial, error) {
	return begin(st, seq, o, 1)
}

func begin(st metal.Stream, seq *Sequence, o TakeOptions, streams int) (*Partial, error) {
	if err := checkTake(seq, &o, streams); err != nil {
		return nil, err
	}
	p := &Partial{books: books{o.Account}, s: &Snapshot{
		Len: seq.Len, Prompt: min(max(o.Prompt, 0), seq.Len), Kind: seq.dev.Info().Kind, shape: seq.shape, dev: seq.dev,
	}}
	p.s.refs.Store(1)
	if o.Kept != nil {
		p.streams, p.width = streams, o.Kept.X.Cols
		if o.Parent != nil && o.Parent.drafts != nil {
			p.parent = o.Parent.drafts.rows
			p.parent.refs.Add(1)
		}
	}
	err := p.takeTrunk(st, seq, &o)
	if err = settled(st, err); err != nil {
		p.Discard()
		return nil, fmt.Errorf("state: snapshot of %d positions: %w", seq.Len, err)
	}
	return p, nil
}

func checkTake(seq *Sequence, o *TakeOptions, streams int) error {
	if seq.broken {
		return fmt.Errorf("state: snapshot: %w", ErrBroken)
	}
	if seq.Len < 1 {
		return fmt.Errorf("%w: got an empty sequence, want at least one position", ErrSnapshot)
	}
	if p := o.Parent; p != nil {
		if err := p.fits(seq.shape, seq.dev); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
		if p.Len > seq.Len {
			return fmt.Errorf("%w: parent: got %d positions, want at most the %d of the sequence", ErrSnapshot, p.Len, seq.Len)
		}
		separate := seq.dev.Info().PromptRows
		if got, want := ClassKey(separate, p.Prompt, p.Len), ClassKey(separate, o.Prompt, p.Len); got != want {
			return fmt.Errorf("%w: parent: got %d positions of the prompt class, want %d", ErrSnapshot, got, want)
		}
	}
	if k := o.Kept; k != nil && (k.Pos+k.Rows != seq.Len || k.Rows < streams) {
		return fmt.Errorf("%w: kept streams: got rows %d to %d, want %d to %d", ErrSnapshot, k.Pos, k.Pos+k.Rows, seq.Len-streams, seq.Len)
	}
	return nil
}

func (p *Partial) takeTrunk(st metal.Stream, seq *Sequence, o *TakeOptions) error {
	s := p.s
	var parent *stretch
	if o.Parent != nil {
		parent = o.Parent.rows
	}
	rows := following(parent, s.shape.Attention, seq.Attention, seq.Len)
	fixed := s.shape.fixedFloats() + p.streams*p.width
	// Booked at once, so that what cannot fit as a whole evicts nothing.
	if err := p.books.take(fixed + rows.floats()); err != nil {
		return err
	}
	var err error
	if s.fixed, err = newBlock(seq.dev, p.books, fixed); err != nil {
		p.books.give(rows.floats())
		return fmt.Errorf("states: %w", err)
	}
	s.own += s.fixed.bytes()
	c := cursor{buf: s.fixed.buf}
	for _, v := range seq.fixedVecs() {
		c.save(st, v)
	}
	if p.streams > 0 {
		st.CopyRows(c.next(p.streams*p.width).Mat(p.streams, p.width), o.Kept.X.RowsOf(o.Kept.Rows-p.streams, p.streams))
	}
	s.rows, err = s.adopt(st, rows, seq.Attention, p.books)
	return err
}

// following plans the stretch of rows up to to that caches have beyond parent.
func following(parent *stretch, layers []AttentionShape, caches []*Attention, to int) *stretch {
	blocks := make([]int, len(caches))
	for i, a := range caches {
		blocks[i] = min(a.Bank.Blocks, a.Index.Complete(to))
	}
	return after(parent, layers, to, blocks)
}

// adopt makes a planned stretch, whose memory has been booked, or shares its parent if that has it all.
func (s *Snapshot) adopt(st metal.Stream, r *stretch, caches []*Attention, books books) (*stretch, error) {
	if r.empty() {
		r.parent.refs.Add(1)
		return r.parent, nil
	}
	if err := r.alloc(s.dev, books); err != nil {
		return nil, err
	}
	r.take(st, caches)
	s.own += r.block.bytes()
	return r, nil
}

// Len is the number of positions.
func (p *Partial) Len() int { return p.s.Len }

// Finish is the second half of Take, for the owner of the MTP caches m (nil: the snapshot cannot draft). It waits for st.
// m must hold the rows before the streams that were copied, built from the sequence's own tokens. On an error, which wraps
// metal.ErrMemory or ErrSnapshot, everything is freed and p is used up, as it is after success.
func (p *Partial) Finish(st metal.Stream, m *MTPCaches) (*Snapshot, error) {
	if p.done {
		panic("state: Finish of a snapshot that is used up")
	}
	if m != nil && p.streams > 0 {
		if err := settled(st, p.takeDrafts(st, m)); err != nil {
			p.Discard()
			return nil, fmt.Errorf("state: snapshot of %d positions: MTP caches: %w", p.s.Len, err)
		}
	}
	p.done = true
	p.parent.release()
	return p.s, nil
}

func (p *Partial) takeDrafts(st metal.Stream, m *MTPCaches) error {
	s := p.s
	to := s.Len - p.streams
	if have := max(m.Len, p.parent.end()); have < to {
		return fmt.Errorf("%w: got %d rows, want %d: the drafter has not caught up", ErrSnapshot, have, to)
	}
	if p.parent.end() > to {
		return fmt.Errorf("%w: got %d rows from the parent, want at most %d", ErrSnapshot, p.parent.end(), to)
	}
	layers := []AttentionShape{m.AttentionShape}
	caches := []*Attention{&m.Attention}
	plan := following(p.parent, layers, caches, to)
	if err := p.books.take(plan.floats()); err != nil {
		return err
	}
	rows, err := s.adopt(st, plan, caches, p.books)
	if err != nil {
		return err
	}
	s.drafts = &draftPart{shape: m.AttentionShape, limit: m.limit, width: p.width, rows: rows}
	s.Drafted = to
	return nil
}

// settled waits for queued copies, also after an error: the memory that they write is freed next.
func settled(st metal.Stream, err error) error {
	if e := st.Sync(); err == nil {
		err = e
	}
	return err
}

// Discard gives up an unfinished snapshot and frees what it holds. It does nothing after Finish or a first Discard.
func (p *Partial) Discard() {
	if p == nil || p.done {
		return
	}
	p.done = true
	p.parent.release()
	p.s.Release()
}

// Cost is the device memory that Take would ask for, to the byte if all banks are settled.
func Cost(seq *Sequence, o TakeOptions) int64 {
	n := seq.shape.fixedFloats()
	var rows, drafts *stretch
	if o.Parent != nil {
		rows = o.Parent.rows
		if o.Parent.drafts != nil {
			drafts = o.Parent.drafts.rows
		}
	}
	n += after(rows, seq.shape.Attention, seq.Len, complete(seq.shape.Attention, seq.Len)).floats()
	if seq.MTP != nil && o.Kept != nil {
		to := min(seq.Len-1, max(seq.MTP.Len, drafts.end()))
		layers := []AttentionShape{seq.MTP.AttentionShape}
		blocks := []int{min(seq.MTP.Bank.Blocks, seq.MTP.Index.Complete(to))}
		n += (seq.Len-to)*o.Kept.X.Cols + after(drafts, layers, to, blocks).floats()
	}
	return 4 * int64(n)
}

func complete(layers []AttentionShape, n int) []int {
	out := make([]int, len(layers))
	for i, a := range layers {
		out[i] = a.Index.Complete(n)
	}
	return out
}

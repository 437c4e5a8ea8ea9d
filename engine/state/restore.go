package state

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// RestoreOptions of a sequence made from a snapshot.
type RestoreOptions struct {
	Positions int    // room to make at once; at least the snapshot's length is made
	Drafts    bool   // give it MTP caches; the snapshot must have them
	Shelf     *Shelf // where the kept streams come from; wanted with Drafts
}

// Restore makes a sequence that is bit for bit what the snapshot was taken of, with one reference. If it drafts, the
// streams that the drafter has yet to catch up with come with it: they must be primed, with the true tokens that follow
// them, before or together with the sequence's next rows. It waits for st, on which it queues the copies. Any number of
// restores of one snapshot may run at once.
//
// Errors wrap metal.ErrMemory or ErrSnapshot and leave nothing allocated.
func Restore(st metal.Stream, shape *Shape, dev metal.Device, snap *Snapshot, o RestoreOptions) (*Sequence, *Kept, error) {
	if err := snap.fits(shape, dev); err != nil {
		return nil, nil, err
	}
	if o.Drafts && snap.drafts == nil {
		return nil, nil, fmt.Errorf("%w: it cannot draft: the sequence it was taken of did not", ErrSnapshot)
	}
	if o.Drafts && o.Shelf == nil {
		return nil, nil, fmt.Errorf("%w: got no shelf for the kept streams", ErrSnapshot)
	}
	seq, err := New(shape, dev, Options{Positions: max(o.Positions, snap.Len)})
	if err != nil {
		return nil, nil, fmt.Errorf("state: restore %d positions: %w", snap.Len, err)
	}
	kept, err := snap.fill(st, seq, o)
	if err = settled(st, err); err != nil {
		seq.Release()
		kept.Free()
		return nil, nil, fmt.Errorf("state: restore %d positions: %w", snap.Len, err)
	}
	return seq, kept, nil
}

// fill copies the snapshot into a fresh sequence.
func (s *Snapshot) fill(st metal.Stream, seq *Sequence, o RestoreOptions) (*Kept, error) {
	c := cursor{buf: s.fixed.buf}
	for _, v := range seq.fixedVecs() {
		c.load(st, v)
	}
	for i, a := range seq.Attention {
		if err := a.Bank.Grow(st, s.rows.blocks[i]); err != nil {
			return nil, err
		}
	}
	s.rows.restore(st, seq.Attention)
	seq.Len = s.Len
	for i, a := range seq.Attention {
		a.Bank.Blocks = s.rows.blocks[i] // a fresh bank: nothing in scratch, nobody else looks at it
	}
	if !o.Drafts {
		return nil, nil
	}
	return s.fillDrafts(st, seq, &c, o)
}

// fillDrafts gives seq MTP caches and returns the streams that lie at c.
func (s *Snapshot) fillDrafts(st metal.Stream, seq *Sequence, c *cursor, o RestoreOptions) (*Kept, error) {
	d := s.drafts
	m, err := NewMTPCaches(seq.dev, d.shape, d.limit)
	if err != nil {
		return nil, err
	}
	seq.MTP = m // freed with the sequence
	if err := m.Reserve(st, 0, min(max(o.Positions, s.Len), d.limit)); err != nil {
		return nil, err
	}
	if err := m.Bank.Grow(st, d.rows.blocks[0]); err != nil {
		return nil, err
	}
	d.rows.restore(st, []*Attention{&m.Attention})
	m.Len, m.Bank.Blocks = s.Drafted, d.rows.blocks[0]
	n := s.Len - s.Drafted
	kept, err := o.Shelf.Take(s.Drafted, n)
	if err != nil {
		return nil, fmt.Errorf("kept streams: %w", err)
	}
	st.CopyRows(kept.X, c.next(n*d.width).Mat(n, d.width))
	return kept, nil
}

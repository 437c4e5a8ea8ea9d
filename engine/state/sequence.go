package state

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// ErrBroken is returned for a sequence whose states a failed pass left half written. It cannot go on; its owner builds
// a new one from the token ledger.
var ErrBroken = errors.New("state: sequence broken by a failed pass")

// Sequence is everything one request has on a device. See the package comment for who may touch what, when.
type Sequence struct {
	Len int // committed positions

	Recurrent []*Recurrent // per gated-delta-net layer
	Attention []*Attention // per trunk attention layer
	Planes    []*Tail      // per PLE layer
	MTP       *MTPCaches   // nil: the sequence does not draft
	Lag       []*Kept      // committed rows the drafter has put off, oldest first (rounds at depth 0); the drafter's

	shape  *Shape
	dev    metal.Device
	refs   atomic.Int32
	broken bool
}

// Options of a new sequence.
type Options struct {
	Positions int // room to make at once, for instance prompt plus token limit; 0 grows on demand
}

// New returns an empty sequence with one reference. The error wraps metal.ErrMemory where memory is the reason; then
// nothing is left allocated.
func New(shape *Shape, dev metal.Device, o Options) (*Sequence, error) {
	if err := shape.check(); err != nil {
		return nil, err
	}
	s := &Sequence{shape: shape, dev: dev}
	s.refs.Store(1)
	if err := s.init(o); err != nil {
		s.free()
		return nil, fmt.Errorf("state: new sequence: %w", err)
	}
	return s, nil
}

func (s *Sequence) init(o Options) error {
	for _, r := range s.shape.Recurrent {
		x, err := newRecurrent(s.dev, r)
		if err != nil {
			return err
		}
		s.Recurrent = append(s.Recurrent, x)
	}
	for _, t := range s.shape.Planes {
		x, err := newTail(s.dev, t)
		if err != nil {
			return err
		}
		s.Planes = append(s.Planes, x)
	}
	for _, a := range s.shape.Attention {
		x := &Attention{AttentionShape: a}
		s.Attention = append(s.Attention, x)
		if err := x.init(s.dev); err != nil {
			return err
		}
	}
	return s.Reserve(o.Positions)
}

// init gives an attention layer its empty bank.
func (a *Attention) init(dev metal.Device) (err error) {
	a.Bank, err = qsa.NewBank(dev, a.Index)
	return err
}

// Shape is the geometry the sequence was made with.
func (s *Sequence) Shape() *Shape { return s.shape }

// Positions is how many positions the trunk caches have room for now.
func (s *Sequence) Positions() int {
	if len(s.Attention) == 0 {
		return s.shape.Positions
	}
	return s.Attention[0].Cap
}

// Reserve makes room for so many positions in the trunk caches; it grows in amortised steps and never past the
// context. The error wraps metal.ErrMemory when there is no room; the sequence is then as it was. No pass and no
// indexer may be at work on the sequence.
func (s *Sequence) Reserve(positions int) error {
	if positions <= s.Positions() {
		return nil
	}
	return s.ReserveOn(s.dev.NewStream(), positions)
}

// ReserveOn is Reserve with the copies on st.
func (s *Sequence) ReserveOn(st metal.Stream, positions int) error {
	return reserve(s.dev, st, s.Attention, s.Len, positions, s.shape.Positions)
}

// Begin marks that a pass is about to write committed states in place (prefill, or a commit): until Done the sequence
// counts as broken, so that a crash in between is noticed by whoever uses it next.
func (s *Sequence) Begin() { s.broken = true }

// Done ends what Begin began.
func (s *Sequence) Done() { s.broken = false }

// Broken reports whether the sequence cannot go on.
func (s *Sequence) Broken() bool { return s.broken }

// Acquire adds a reference unless the sequence has been released already: for work that was queued while somebody else
// held it. false means that there is nothing left to work on.
func (s *Sequence) Acquire() bool {
	for {
		n := s.refs.Load()
		if n <= 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Retain adds a reference to a sequence that the caller holds.
func (s *Sequence) Retain() {
	if s.refs.Add(1) < 2 {
		panic("state: Retain of a released sequence")
	}
}

// Release drops a reference; the last one frees all memory, the MTP caches included.
func (s *Sequence) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.free()
	case n < 0:
		panic("state: Release without a reference")
	}
}

func (s *Sequence) free() {
	for _, r := range s.Recurrent {
		r.free()
	}
	for _, t := range s.Planes {
		t.free()
	}
	for _, a := range s.Attention {
		a.free()
	}
	s.StopDrafting()
	s.Recurrent, s.Planes, s.Attention = nil, nil, nil
}

// StopDrafting frees the MTP caches and what waited for them: the sequence goes on without drafts.
func (s *Sequence) StopDrafting() {
	if s.MTP != nil {
		s.MTP.free()
		s.MTP = nil
	}
	for _, k := range s.Lag {
		k.Free()
	}
	s.Lag = nil
}

// LagRows is how many committed rows the drafter has put off.
func (s *Sequence) LagRows() int {
	n := 0
	for _, k := range s.Lag {
		n += k.Rows
	}
	return n
}

// Bytes is the device memory the sequence holds, MTP caches included.
func (s *Sequence) Bytes() int64 {
	n := int64(0)
	for _, r := range s.Recurrent {
		n += r.State.bytes() + r.Tail.bytes()
	}
	for _, t := range s.Planes {
		n += t.bytes()
	}
	for _, a := range s.Attention {
		n += a.bytes()
	}
	if s.MTP != nil {
		n += s.MTP.Bytes()
	}
	return n
}

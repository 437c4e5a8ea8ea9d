package state

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/flashlane/flashlane/metal"
)

// ErrSnapshot marks a snapshot that does not fit what is asked of it: a sequence, a parent, a device. Nothing was done.
var ErrSnapshot = errors.New("state: snapshot does not fit")

// Snapshot is all that a sequence needs to go on from length Len, as an immutable copy: the recurrent states and tails;
// KV, raw index keys and pooled blocks of rows [0, Len) per attention layer; and, if it [Snapshot.Drafts], rows [0, Drafted)
// of the MTP caches with the trunk's streams of rows [Drafted, Len) (Drafted is Len-1 unless the drafter was behind).
//
// States that cannot be cut are whole in each snapshot. Of what is kept per row a snapshot holds only the rows that the
// snapshot it was taken on top of does not have, and keeps those of the other alive.
//
// It is safe for concurrent use. Retain and Release count references; memory goes with the last one, rows that a later
// snapshot stands on when that one goes too.
type Snapshot struct {
	Len     int    // positions
	Prompt  int    // how many of them were computed as positions of the prompt class (design, promise 1)
	Drafted int    // rows of the MTP caches; 0 if it cannot draft, and for Len 1
	Kind    string // metal.Info.Kind of the device its bits are of

	shape  *Shape
	dev    metal.Device
	fixed  block
	rows   *stretch
	drafts *draftPart // nil: it cannot draft
	own    int64

	refs atomic.Int32
}

// draftPart is what lets a restored sequence draft.
type draftPart struct {
	shape AttentionShape
	limit int // rows its MTP caches may ever have
	width int // of the streams
	rows  *stretch
}

// Drafts reports whether a sequence restored from the snapshot can draft.
func (s *Snapshot) Drafts() bool { return s.drafts != nil }

// Shape is the geometry of the sequences it fits.
func (s *Snapshot) Shape() *Shape { return s.shape }

// Bytes is the device memory that exists because of this snapshot alone: its states, and the rows that its parent lacks.
func (s *Snapshot) Bytes() int64 { return s.own }

// Held is the device memory that the snapshot keeps alive, shared rows included.
func (s *Snapshot) Held() int64 {
	n := s.fixed.bytes()
	for r := s.rows; r != nil; r = r.parent {
		n += r.block.bytes()
	}
	if s.drafts != nil {
		for r := s.drafts.rows; r != nil; r = r.parent {
			n += r.block.bytes()
		}
	}
	return n
}

// Retain adds a reference to a snapshot that the caller holds.
func (s *Snapshot) Retain() {
	if s.refs.Add(1) < 2 {
		panic("state: Retain of a released snapshot")
	}
}

// Release drops a reference; the last one frees the memory that no later snapshot stands on.
func (s *Snapshot) Release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.free()
	case n < 0:
		panic("state: Release of a snapshot without a reference")
	}
}

func (s *Snapshot) free() {
	s.fixed.free()
	s.rows.release()
	s.rows = nil
	if s.drafts != nil {
		s.drafts.rows.release()
		s.drafts = nil
	}
}

// fixedVecs is what cannot be cut to a length, in the order in which it lies in a snapshot.
func (s *Sequence) fixedVecs() []metal.Vec {
	out := make([]metal.Vec, 0, 2*len(s.Recurrent)+len(s.Planes))
	for _, r := range s.Recurrent {
		out = append(out, r.State.Now(), r.Tail.Now())
	}
	for _, t := range s.Planes {
		out = append(out, t.Now())
	}
	return out
}

// fixedFloats is the size of a snapshot's part that cannot be cut.
func (s *Shape) fixedFloats() int {
	n := 0
	for _, r := range s.Recurrent {
		n += r.Delta.ValueHeads*r.Delta.KeyDim*r.Delta.ValueDim + r.Tail.Rows*r.Tail.Cols
	}
	for _, t := range s.Planes {
		n += t.Rows * t.Cols
	}
	return n
}

// same reports whether two shapes are of the same sequences.
func (s *Shape) same(o *Shape) bool { return s == o || reflect.DeepEqual(s, o) }

// fits says why a snapshot cannot be used with sequences of this shape and device.
func (s *Snapshot) fits(shape *Shape, dev metal.Device) error {
	if kind := dev.Info().Kind; kind != s.Kind {
		return fmt.Errorf("%w: device kind: got %q, want %q, which it was computed on", ErrSnapshot, kind, s.Kind)
	}
	if dev != s.dev {
		return fmt.Errorf("%w: got another device of kind %q, want the one its memory is on", ErrSnapshot, s.Kind)
	}
	if !shape.same(s.shape) {
		return fmt.Errorf("%w: it is of a model of another shape", ErrSnapshot)
	}
	return nil
}

// ClassKey is the part of a snapshot's key that says which of its positions were computed as prompt (design, promise 1): a
// snapshot of length positions, prompt of them of the prompt class, may serve a request whose first prompt positions are
// its prompt if and only if both give the same ClassKey for that length. separate is metal.Info.PromptRows: on a device
// with one class all keys are 0.
func ClassKey(separate bool, prompt, length int) int {
	if !separate {
		return 0
	}
	return min(max(prompt, 0), length)
}

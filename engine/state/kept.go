package state

import (
	"math/bits"
	"sync"

	"github.com/flashlane/flashlane/metal"
)

// Kept is the trunk's streams X [Rows, W] of committed positions Pos..Pos+Rows-1 that the drafter has not yet caught
// up with (spec 3.1 wants them before the final mixer). It belongs to whoever holds it; Free may be called once or more.
type Kept struct {
	Pos  int
	Rows int
	X    metal.Mat

	shelf *Shelf
	buf   metal.Buffer
	once  sync.Once
}

// Free gives the memory back.
func (k *Kept) Free() {
	if k == nil {
		return
	}
	k.once.Do(func() { k.shelf.put(k.buf) })
}

// Shelf hands out Kept rows of one width and holds on to a few small buffers, so that a steady round allocates nothing
// on the device. It is safe for concurrent use.
type Shelf struct {
	dev   metal.Device
	width int

	mu   sync.Mutex
	free map[int][]metal.Buffer // by length
}

// shelfRows is the largest buffer worth holding on to (a round has at most 8 rows), shelfKeep how many of each size.
const (
	shelfRows = 8
	shelfKeep = 32
)

// NewShelf returns a shelf for streams of width W = S*H.
func NewShelf(dev metal.Device, width int) *Shelf {
	return &Shelf{dev: dev, width: width, free: map[int][]metal.Buffer{}}
}

// Take returns room for rows positions from pos. The content is undefined.
func (s *Shelf) Take(pos, rows int) (*Kept, error) {
	n := rows
	if n <= shelfRows {
		n = 1 << bits.Len(uint(n-1))
	}
	buf := s.take(n * s.width)
	if buf == nil {
		var err error
		if buf, err = s.dev.Alloc(metal.F32, n*s.width); err != nil {
			return nil, err
		}
	}
	x := metal.Mat{Buf: buf, Rows: rows, Cols: s.width, Stride: s.width}
	return &Kept{Pos: pos, Rows: rows, X: x, shelf: s, buf: buf}, nil
}

func (s *Shelf) take(n int) metal.Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.free[n]
	if len(l) == 0 {
		return nil
	}
	s.free[n] = l[:len(l)-1]
	return l[len(l)-1]
}

func (s *Shelf) put(b metal.Buffer) {
	s.mu.Lock()
	n := b.Len()
	if s.free != nil && n <= shelfRows*s.width && len(s.free[n]) < shelfKeep {
		s.free[n] = append(s.free[n], b)
		b = nil
	}
	s.mu.Unlock()
	if b != nil {
		b.Free()
	}
}

// Close frees what lies on the shelf; what is out is freed when it comes back.
func (s *Shelf) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.free {
		for _, b := range l {
			b.Free()
		}
	}
	s.free = nil
}

package state

import (
	"fmt"
	"sync/atomic"

	"github.com/flashlane/flashlane/metal"
)

// Account is asked before a snapshot's memory is allocated and told when it has been freed. It must be safe for
// concurrent use. A nil Account counts nothing.
type Account interface {
	// Take books bytes, or returns an error wrapping metal.ErrMemory when there is no room for them.
	Take(bytes int64) error
	// Give takes them off the books.
	Give(bytes int64)
}

// books is an account, or none.
type books struct{ account Account }

func (b books) take(floats int) error {
	if b.account == nil || floats == 0 {
		return nil
	}
	return b.account.Take(4 * int64(floats))
}

func (b books) give(floats int) {
	if b.account != nil && floats > 0 {
		b.account.Give(4 * int64(floats))
	}
}

// block is device memory that is on the books. The zero block is empty.
type block struct {
	buf   metal.Buffer
	books books
}

// newBlock allocates what has been booked; if it cannot, it takes it off the books.
func newBlock(dev metal.Device, b books, floats int) (block, error) {
	if floats == 0 {
		return block{}, nil
	}
	buf, err := dev.Alloc(metal.F32, floats)
	if err != nil {
		b.give(floats)
		return block{}, err
	}
	return block{buf: buf, books: b}, nil
}

func (b *block) bytes() int64 {
	if b.buf == nil {
		return 0
	}
	return 4 * int64(b.buf.Len())
}

func (b *block) free() {
	if b.buf == nil {
		return
	}
	n := b.buf.Len()
	b.buf.Free()
	b.books.give(n)
	*b = block{}
}

// stretch is rows [from, to) of everything that a group of attention layers keeps per position, and the pooled blocks that
// its ancestors lack, in one piece of memory. It never changes once made. The rows before it are its parent's, which it
// keeps alive: that is how snapshots along one prefix share memory.
type stretch struct {
	parent   *stretch
	from, to int
	blocks   []int // per layer: blocks this stretch and its ancestors hold
	layers   []AttentionShape
	block    block

	refs atomic.Int32
}

// blocksBefore is how many blocks of layer i the ancestors hold.
func (s *stretch) blocksBefore(i int) int {
	if s.parent == nil {
		return 0
	}
	return s.parent.blocks[i]
}

// end is how many rows a stretch and its ancestors hold.
func (s *stretch) end() int {
	if s == nil {
		return 0
	}
	return s.to
}

// floats is the size of the memory.
func (s *stretch) floats() int {
	n := 0
	for i, a := range s.layers {
		n += (s.to-s.from)*(2*a.Width+a.Index.Dim) + (s.blocks[i]-s.blocksBefore(i))*a.Index.Dim
	}
	return n
}

// after plans the stretch of rows up to to, and of so many blocks per layer, that follows parent. It has no memory yet and
// no claim on its parent.
func after(parent *stretch, layers []AttentionShape, to int, blocks []int) *stretch {
	s := &stretch{parent: parent, from: parent.end(), to: to, blocks: blocks, layers: layers}
	for i := range blocks {
		blocks[i] = max(blocks[i], s.blocksBefore(i)) // an ancestor's may be of a sequence whose bank was further
	}
	s.refs.Store(1)
	return s
}

// empty reports that a stretch adds nothing to its parent.
func (s *stretch) empty() bool { return s.parent != nil && s.floats() == 0 }

// vecs is the parts of layer a that the stretch holds, in the order in which they lie in its memory.
func (s *stretch) vecs(i int, a *Attention) [4]metal.Vec {
	n, first := s.to-s.from, s.blocksBefore(i)
	dim := a.Index.Dim
	return [4]metal.Vec{
		{Buf: a.K, Off: s.from * a.Width, N: n * a.Width},
		{Buf: a.V, Off: s.from * a.Width, N: n * a.Width},
		{Buf: a.Raw, Off: s.from * dim, N: n * dim},
		{Buf: a.Bank.Keys.Buf, Off: a.Bank.Keys.Off + first*dim, N: (s.blocks[i] - first) * dim},
	}
}

// take queues the copies out of the caches.
func (s *stretch) take(st metal.Stream, caches []*Attention) {
	c := cursor{buf: s.block.buf}
	for i, a := range caches {
		for _, v := range s.vecs(i, a) {
			c.save(st, v)
		}
	}
}

// alloc gives the stretch its memory, which has been booked, and claims the parent.
func (s *stretch) alloc(dev metal.Device, books books) error {
	b, err := newBlock(dev, books, s.floats())
	if err != nil {
		return fmt.Errorf("rows %d to %d: %w", s.from, s.to, err)
	}
	s.block = b
	if s.parent != nil {
		s.parent.refs.Add(1)
	}
	return nil
}

// restore queues the copies of this stretch and its ancestors into caches that have room for them.
func (s *stretch) restore(st metal.Stream, caches []*Attention) {
	for ; s != nil; s = s.parent {
		c := cursor{buf: s.block.buf}
		for i, a := range caches {
			for _, v := range s.vecs(i, a) {
				c.load(st, v)
			}
		}
	}
}

// release drops a claim; the last one frees the memory and drops the claim on the parent.
func (s *stretch) release() {
	for s != nil {
		n := s.refs.Add(-1)
		if n > 0 {
			return
		}
		if n < 0 {
			panic("state: stretch released without a claim")
		}
		s.block.free()
		s = s.parent
	}
}

// cursor walks over a block's memory, vector by vector.
type cursor struct {
	buf metal.Buffer
	off int
}

func (c *cursor) next(n int) metal.Vec {
	v := metal.Vec{Buf: c.buf, Off: c.off, N: n}
	c.off += n
	return v
}

// save queues a copy of v to the next place.
func (c *cursor) save(st metal.Stream, v metal.Vec) {
	if v.N > 0 {
		st.Copy(c.next(v.N), v)
	}
}

// load queues a copy of the next place to v.
func (c *cursor) load(st metal.Stream, v metal.Vec) {
	if v.N > 0 {
		st.Copy(v, c.next(v.N))
	}
}

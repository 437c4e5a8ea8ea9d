package cpu

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// arena hands out the memory of buffers and weights from chunks of pages that lie beside Go's heap. What is given back
// leaves the process at once, where a collector would keep it as garbage and let the heap grow to twice of what lives: so
// what the device counts is what the system sees. The zero arena is ready. It is safe for concurrent use.
//
// Where there are no such pages (pages_other.go) memory is Go's, and give leaves it to the collector.
type arena struct {
	// huge asks for huge pages: for weights, which are walked end to end in every pass and most of which are smaller than
	// one. Huge pages come and go whole, so memory that is taken and given back all the time does without.
	huge bool

	mu     sync.Mutex
	chunks []*chunk // ascending addresses
}

// chunk is a run of pages.
type chunk struct {
	mem   []byte
	fresh int    // nothing from this offset on was ever taken: it reads as zero, and no page is there yet
	free  []span // ascending, with something taken between any two
}

// span is the bytes [from, to) of a chunk, in whole lines.
type span struct{ from, to int }

const (
	line      = 64       // a cache line: what is taken begins on one, and loads of 64 bytes never straddle two
	chunkSize = 64 << 20 // bytes; what is never taken of them takes no memory, and what does not fit gets a chunk of its own
)

// take returns n zeroed bytes, with their pages behind them; false: the system has none left.
func (a *arena) take(n int) (b []byte, ok bool) {
	if !pagesApart || n == 0 {
		return heapBytes(n), true
	}
	b, used, ok := a.reserve(n)
	if !ok {
		return nil, false
	}
	clear(b[:used]) // not under the lock: caches of long contexts are large
	if !a.huge {    // weights are written at once, by all threads
		for i := used; i < n; i += pageSize {
			b[i] = 0 // the page comes now, and not in the middle of a pass
		}
	}
	return b, true
}

// reserve returns n bytes, of which the first used may have been taken before.
func (a *arena) reserve(n int) (b []byte, used int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, s, ok := a.find(lines(n))
	if !ok {
		return nil, 0, false
	}
	used = min(max(c.fresh-s.from, 0), n)
	c.fresh = max(c.fresh, s.to)
	return c.mem[s.from : s.from+n : s.to], used, true
}

// find takes n bytes out of a chunk that has them, or out of a new one.
func (a *arena) find(n int) (*chunk, span, bool) {
	for _, c := range a.chunks {
		for i, s := range c.free {
			if s.to-s.from < n {
				continue
			}
			got := span{s.from, s.from + n}
			if c.free[i].from = got.to; got.to == s.to {
				c.free = slices.Delete(c.free, i, i+1)
			}
			return c, got, true
		}
	}
	mem, ok := mapPages(max(pageUp(n), chunkSize), a.huge)
	if !ok {
		return nil, span{}, false
	}
	c := &chunk{mem: mem}
	if n < len(mem) {
		c.free = []span{{n, len(mem)}}
	}
	at, _ := slices.BinarySearchFunc(a.chunks, c.base(), compareBase)
	a.chunks = slices.Insert(a.chunks, at, c)
	return c, span{0, n}, true
}

// give takes back what take returned. Its pages, and those it shared with free neighbours, leave the process.
func (a *arena) give(b []byte) {
	if !pagesApart || len(b) == 0 {
		return
	}
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	b = b[:min(lines(len(b)), cap(b))]
	first, last := pageUp(addr), pageDown(addr+uintptr(len(b)))
	if first < last {
		dropPages(b[first-addr : last-addr]) // most of it, while nobody has to wait
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, exact := slices.BinarySearchFunc(a.chunks, addr, compareBase)
	if !exact {
		at--
	}
	if at < 0 || addr+uintptr(len(b)) > a.chunks[at].base()+uintptr(len(a.chunks[at].mem)) {
		panic(fmt.Sprintf("cpu: arena: %d bytes given back that were never taken", len(b)))
	}
	c := a.chunks[at]
	from := int(addr - c.base())
	to := from + lines(len(b))
	whole := c.join(span{from, to})
	if len(c.mem) == whole.to-whole.from && (len(a.chunks) > 1 || len(c.mem) > chunkSize) {
		unmapPages(c.mem)
		a.chunks = slices.Delete(a.chunks, at, at+1)
		return
	}
	// Left are the pages at either end that were shared with what is free now, too.
	for _, end := range [2]int{from, to} {
		if p := pageDown(end); p < end && p >= whole.from && p+pageSize <= whole.to {
			dropPages(c.mem[p : p+pageSize])
		}
	}
}

// join adds a span to the free ones and returns the free span it is part of now.
func (c *chunk) join(s span) span {
	i, _ := slices.BinarySearchFunc(c.free, s.from, func(f span, from int) int { return f.from - from })
	if i > 0 && c.free[i-1].to > s.from || i < len(c.free) && c.free[i].from < s.to {
		panic(fmt.Sprintf("cpu: arena: bytes %d to %d given back twice", s.from, s.to))
	}
	if i < len(c.free) && c.free[i].from == s.to {
		s.to = c.free[i].to
		c.free = slices.Delete(c.free, i, i+1)
	}
	if i > 0 && c.free[i-1].to == s.from {
		c.free[i-1].to = s.to
		return c.free[i-1]
	}
	c.free = slices.Insert(c.free, i, s)
	return s
}

// close unmaps everything; nothing taken may be used any more.
func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.chunks {
		unmapPages(c.mem)
	}
	a.chunks = nil
}

func (c *chunk) base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(c.mem))) }

func compareBase(c *chunk, addr uintptr) int {
	switch b := c.base(); {
	case b < addr:
		return -1
	case b > addr:
		return 1
	}
	return 0
}

// lines rounds up to whole lines.
func lines(n int) int { return (n + line - 1) &^ (line - 1) }

// pageUp and pageDown round to whole pages.
func pageUp[T int | uintptr](n T) T   { return (n + T(pageSize) - 1) &^ (T(pageSize) - 1) }
func pageDown[T int | uintptr](n T) T { return n &^ (T(pageSize) - 1) }

// heapBytes returns n zeroed bytes of Go's heap that begin on a line.
func heapBytes(n int) []byte {
	s := make([]byte, n+line)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s)))) & (line - 1)
	return s[off : off+n : off+n]
}

// floatsOf sees bytes that begin on a line as f32.
func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// intsIn sees them as i32.
func intsIn(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// wordsOf sees them as u32.
func wordsOf(b []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// bytesOf undoes wordsOf.
func bytesOf(w []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w))
}

package cpu

import (
	"sync"
	"unsafe"
)

// slab hands out memory for weights from large blocks, so that they can be backed by huge pages although most weights are
// smaller than one. A block goes back to the collector with the last weight in it.
type slab struct {
	mu   sync.Mutex
	free []byte
}

// slabBlock is the size of a block; what is never used of it takes no memory. A larger weight gets one of its own.
const slabBlock = 16 << 20

// take returns n zeroed bytes that begin on a cache line.
func (s *slab) take(n int) []byte {
	const line = 64
	s.mu.Lock()
	defer s.mu.Unlock()
	room := (n + line - 1) &^ (line - 1)
	if room > slabBlock/2 {
		b := alignedBytes(n)
		hugePages(b)
		return b
	}
	if len(s.free) < room {
		s.free = alignedBytes(slabBlock)
		hugePages(s.free)
	}
	b := s.free[:n:n]
	s.free = s.free[room:]
	return b
}

// words is take for n u32.
func (s *slab) words(n int) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s.take(4*n)))), n)
}

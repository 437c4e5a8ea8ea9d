package cpu

import "sync"

// spare keeps a little of what was freed for the next request, which asks for the same sizes: bringing pages in and out
// costs more than the rest of opening a sequence. It is resident and counted as free, so it is small. The zero spare is
// ready. It is safe for concurrent use.
type spare struct {
	mu     sync.Mutex
	blocks map[int][][]byte // by size
	bytes  int
}

const (
	spareBytes = 4 << 20   // most that is kept
	spareBlock = 256 << 10 // the largest block that is kept: larger ones cost their pages anyway
)

// take returns a zeroed block of that size, or nil.
func (s *spare) take(n int) []byte {
	s.mu.Lock()
	list := s.blocks[n]
	if len(list) == 0 {
		s.mu.Unlock()
		return nil
	}
	b := list[len(list)-1]
	s.blocks[n] = list[:len(list)-1]
	s.bytes -= n
	s.mu.Unlock()
	clear(b)
	return b
}

// give keeps a block and returns true, or leaves it. What does not fit drives out all that is kept into let: sizes that
// nobody asks for any more must not fill the room for good.
func (s *spare) give(b []byte, let func([]byte)) bool {
	if len(b) > spareBlock || len(b) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(b) > spareBytes {
		for _, list := range s.blocks {
			for _, old := range list {
				let(old)
			}
		}
		clear(s.blocks)
		s.bytes = 0
	}
	if s.blocks == nil {
		s.blocks = map[int][][]byte{}
	}
	s.blocks[len(b)] = append(s.blocks[len(b)], b)
	s.bytes += len(b)
	return true
}

package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/flashlane/flashlane/ple"
)

// page is what a disk reads at least.
const page = 4 << 10

// Slow is a file on a disk that serves one read of a page after another, each in Each. Reads in memory cost nothing more;
// pages that were asked for by Fetch are served in the order of asking. It is safe for concurrent use.
type Slow struct {
	file ple.Ahead
	each time.Duration
	now  func() time.Time
	wait func(time.Duration)

	mu   sync.Mutex
	free time.Time           // when the disk has served all it was asked for
	due  map[int64]time.Time // pages that are asked for and when they come
}

// NewSlow slows f down. The file must tell bytes in memory from bytes on disk, as the system's files do on Linux.
func NewSlow(f io.ReaderAt, each time.Duration) (*Slow, error) {
	a := ple.OpenAhead(f)
	if a == nil {
		return nil, fmt.Errorf("disk: this file cannot tell what is in memory: %w", errors.ErrUnsupported)
	}
	return &Slow{file: a, each: each, now: time.Now, wait: time.Sleep, due: map[int64]time.Time{}}, nil
}

// Unwrap is the file below.
func (s *Slow) Unwrap() io.ReaderAt {
	if u, ok := s.file.(interface{ Unwrap() io.ReaderAt }); ok {
		return u.Unwrap()
	}
	return s.file
}

// ReadNow implements ple.Ahead. A page that is on its way is not there yet, however fast the real disk was.
func (s *Slow) ReadNow(p []byte, off int64) (bool, error) {
	if left, _ := s.pending(off, len(p)); left > 0 {
		return false, nil
	}
	return s.file.ReadNow(p, off)
}

// Fetch implements ple.Ahead.
func (s *Slow) Fetch(off int64, n int) {
	s.ask(off, n)
	s.file.Fetch(off, n)
}

// ReadAt implements io.ReaderAt. Pages that were asked for and have come are there, though the system may have dropped
// them since.
func (s *Slow) ReadAt(p []byte, off int64) (int, error) {
	left, asked := s.pending(off, len(p))
	if !asked {
		if ok, err := s.file.ReadNow(p, off); err == nil && ok {
			return len(p), nil
		}
		s.ask(off, len(p))
		left, _ = s.pending(off, len(p))
	}
	if left > 0 {
		s.wait(left)
	}
	s.take(off, len(p))
	return s.file.ReadAt(p, off)
}

// ask puts the pages of a range that are not on their way in the disk's queue.
func (s *Slow) ask(off int64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for p := off / page; p <= (off+int64(n)-1)/page; p++ {
		if s.due[p].After(now) {
			continue
		}
		if s.free.Before(now) {
			s.free = now
		}
		s.free = s.free.Add(s.each)
		s.due[p] = s.free
	}
}

// pending is how long the pages of a range are still on their way, and whether all of them were asked for.
func (s *Slow) pending(off int64, n int) (left time.Duration, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	asked = true
	for p := off / page; p <= (off+int64(n)-1)/page; p++ {
		due, ok := s.due[p]
		asked = asked && ok
		if ok {
			left = max(left, due.Sub(now))
		}
	}
	return left, asked
}

// take forgets pages that were read.
func (s *Slow) take(off int64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := off / page; p <= (off+int64(n)-1)/page; p++ {
		delete(s.due, p)
	}
}

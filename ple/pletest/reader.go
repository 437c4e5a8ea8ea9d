package pletest

import (
	"io"
	"sync"
	"sync/atomic"
)

// Reader is a file in memory whose reads can go wrong. Set its fields between uses, not while it is read; Reads and the
// read itself are safe for concurrent use.
type Reader struct {
	Data []byte

	Fail  func(off int64, n int) error // a non-nil error fails the read
	Short func(off int64, n int) bool  // true cuts the read to half its bytes, without an error
	Late  func(off int64, n int)       // runs before the read, for instance waits on a channel

	reads atomic.Int64
	mu    sync.Mutex
	busy  int
	peak  int
}

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	r.reads.Add(1)
	r.mu.Lock()
	r.busy++
	r.peak = max(r.peak, r.busy)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy--
		r.mu.Unlock()
	}()
	if r.Late != nil {
		r.Late(off, len(p))
	}
	if r.Fail != nil {
		if err := r.Fail(off, len(p)); err != nil {
			return 0, err
		}
	}
	if off < 0 || off >= int64(len(r.Data)) {
		return 0, io.EOF
	}
	if r.Short != nil && r.Short(off, len(p)) {
		return copy(p[:len(p)/2], r.Data[off:]), nil
	}
	n := copy(p, r.Data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size is the file's length.
func (r *Reader) Size() int64 { return int64(len(r.Data)) }

// Reads is the number of reads so far.
func (r *Reader) Reads() int64 { return r.reads.Load() }

// Peak is the most reads that were under way at once.
func (r *Reader) Peak() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peak
}

// Busy is the number of reads under way.
func (r *Reader) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy
}

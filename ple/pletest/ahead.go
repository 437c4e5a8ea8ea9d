package pletest

import (
	"fmt"
	"sync"
)

// Ahead is a Reader that tells warm bytes from cold ones, and keeps a log of what it was asked: "now 96+8", "fetch 96+8",
// "wait 96+8".
type Ahead struct {
	Reader
	Cold func(off int64, n int) bool // true: the bytes are on disk
	Err  error                       // of ReadNow

	mu  sync.Mutex
	log []string
}

func (a *Ahead) note(what string, off int64, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, fmt.Sprintf("%s %d+%d", what, off, n))
}

// Log is what was asked since the last call.
func (a *Ahead) Log() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	log := a.log
	a.log = nil
	return log
}

// ReadNow implements ple.Ahead.
func (a *Ahead) ReadNow(p []byte, off int64) (bool, error) {
	if a.Err != nil {
		return false, a.Err
	}
	if a.Cold != nil && a.Cold(off, len(p)) {
		return false, nil
	}
	a.note("now", off, len(p))
	return off >= 0 && off <= int64(len(a.Data)) && copy(p, a.Data[off:]) == len(p), nil
}

// Fetch implements ple.Ahead.
func (a *Ahead) Fetch(off int64, n int) { a.note("fetch", off, n) }

// ReadAt implements io.ReaderAt.
func (a *Ahead) ReadAt(p []byte, off int64) (int, error) {
	a.note("wait", off, len(p))
	return a.Reader.ReadAt(p, off)
}

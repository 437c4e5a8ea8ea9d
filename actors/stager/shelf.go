package stager

import (
	"sync"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// Shelf hands out windows of one size and takes them back, so that a steady round allocates nothing. It is safe for
// concurrent use.
type Shelf struct {
	dev    metal.Device
	layers []*ple.Layer
	rows   int
	keep   int
	retire func(*ple.Window)

	mu   sync.Mutex
	free []*ple.Window
}

// NewShelf returns a shelf of windows with room for rows rows, of which it keeps at most so many; retire is called for
// windows that ended uncleanly.
func NewShelf(dev metal.Device, layers []*ple.Layer, rows, keep int, retire func(*ple.Window)) *Shelf {
	return &Shelf{dev: dev, layers: layers, rows: rows, keep: keep, retire: retire}
}

// Take returns a window for the caller to Reset.
func (s *Shelf) Take() (*ple.Window, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return w, nil
	}
	return ple.NewWindow(s.dev, s.layers, s.rows)
}

// Put takes a window back after the pass that used it. A window whose gate is not open, or open with an error, may still
// be written to by a late Stage: it is retired and never handed out again.
func (s *Shelf) Put(w *ple.Window) {
	if w == nil {
		return
	}
	if !w.Gate.Ready() || w.Gate.Err() != nil {
		s.retire(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == s.keep {
		w.Free() // its sequence has been promised memory, an empty house has not
		return
	}
	s.free = append(s.free, w)
}

// Close frees the windows on the shelf.
func (s *Shelf) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.free {
		w.Free()
	}
	s.free = nil
}

package stager

import (
	"sync"
	"sync/atomic"

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

// Loan is a window off its shelf. It travels with the round or chunk that it was made for, and whoever ends that first gives
// it back; a nil Loan is no window.
type Loan struct {
	window *ple.Window
	shelf  *Shelf
	back   atomic.Bool
}

// Window is the window, or nil once it was given back.
func (l *Loan) Window() *ple.Window {
	if l == nil || l.back.Load() {
		return nil
	}
	return l.window
}

// Back gives the window back; again, it does nothing.
func (l *Loan) Back() {
	if l != nil && !l.back.Swap(true) {
		l.shelf.put(l.window)
	}
}

// Take returns a window for the caller to Reset.
func (s *Shelf) Take() (*Loan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return &Loan{window: w, shelf: s}, nil
	}
	w, err := ple.NewWindow(s.dev, s.layers, s.rows)
	if err != nil {
		return nil, err
	}
	return &Loan{window: w, shelf: s}, nil
}

// put takes a window back after the pass that used it. A window whose gate is not open, or open with an error, may still
// be written to by a late Stage: it is retired and never handed out again.
func (s *Shelf) put(w *ple.Window) {
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

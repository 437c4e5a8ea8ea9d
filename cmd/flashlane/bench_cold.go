package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flashlane/flashlane/bench/disk"
)

// coldFlags make windows read their n-gram rows from disk.
type coldFlags struct {
	Cold  bool          `help:"Drop the n-gram table's pages from the system's cache before every window and ten times a second in it, so that rows that are not in the row cache come from disk (Linux). Give a small --ngram-cache, too."`
	Delay time.Duration `name:"read-delay" help:"Stand for a slower disk: one that serves a cold page in this time, one after another. Reads rows by position."`
}

// dropEvery is how often pages are dropped during a window: what a token brings in is gone for the next but a few.
const dropEvery = 100 * time.Millisecond

// check refuses what cannot be measured so, and has rows read the way that can.
func (f coldFlags) check(b *benchFlags) error {
	switch {
	case !f.Cold && f.Delay == 0:
		return nil
	case f.Delay < 0:
		return fmt.Errorf("--read-delay: got %v, want 0 or more", f.Delay)
	case b.URL != "":
		return errors.New("--cold and --read-delay need a server of their own; they cannot reach into the one at --url")
	case !f.Cold:
		return errors.New("--read-delay: with warm pages nothing is read from a disk; give --cold, too")
	case b.Model == nil:
		return errors.New("--cold: the embedded pack's n-gram rows lie in the program, so none come from disk; give a pack in a folder by --model")
	case b.Place == "memory":
		return errors.New("--cold: with --ngram-placement memory no row comes from disk; want mmap or file")
	case f.Delay == 0:
		if b.Place == "auto" { // which may copy a small table
			b.Place = "mmap"
		}
		return nil
	case b.Place != "auto" && b.Place != "file":
		return fmt.Errorf("--read-delay: got --ngram-placement %s, want file: only reads by position can be delayed", b.Place)
	}
	b.Place = "file"
	b.tableFile = func(r io.ReaderAt) io.ReaderAt {
		s, err := disk.NewSlow(r, f.Delay)
		if err != nil {
			return failing{err}
		}
		return s
	}
	return nil
}

// reachable refuses a pack of which no row can come from disk.
func (f coldFlags) reachable(t *target) error {
	if f.Cold && len(t.tables) == 0 {
		return errors.New("--cold: the pack has no n-gram table")
	}
	return nil
}

// failing is a file that cannot be slowed down; the first read says why.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// before is what happens before each window.
func (f coldFlags) before(t *target) func() error {
	if !f.Cold {
		return settle
	}
	return func() error { return errors.Join(settle(), t.drop()) }
}

// drop makes the n-gram table cold.
func (t *target) drop() error {
	for _, table := range t.tables {
		if err := table.Evict(); err != nil {
			return fmt.Errorf("--cold: %w", err)
		}
	}
	return nil
}

// keepCold drops pages until stop is called, which returns the first error.
func (f coldFlags) keepCold(t *target) (stop func() error) {
	if !f.Cold {
		return func() error { return nil }
	}
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(dropEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				ended <- nil
				return
			case <-tick.C:
				if err := t.drop(); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	return func() error { close(end); return <-ended }
}

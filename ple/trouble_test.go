package ple_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

// A cache tells of a table that cannot be read, by name and file, until the row that failed can be.
func TestTrouble(t *testing.T) {
	b := pletest.Table{Rows: 4000, Dim: 64, Format: metal.FormatQ4, Group: 32, Seed: 15}
	for _, p := range []ple.Placement{ple.Mmap, ple.File} {
		t.Run(p.String(), func(t *testing.T) {
			spec, f := onDisk(t, b)
			table := placed(t, spec, p)
			c := newCache(t, table, 0, ple.CacheOptions{})
			get := func(ids ...int64) error {
				return c.Gather(t.Context(), new(ple.Scratch), make([]byte, len(ids)*table.RowBytes()), ids)
			}
			if err := get(0, 3999); err != nil || c.Trouble() != nil {
				t.Fatalf("whole: got %v, trouble %v", err, c.Trouble())
			}
			if err := get(4000); !errors.Is(err, ple.ErrRead) || c.Trouble() != nil {
				t.Errorf("a row past the end: got %v, trouble %v, want an error that is not the table's", err, c.Trouble())
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			size, last := info.Size(), make([]byte, 1)
			if _, err := f.ReadAt(last, size-1); err != nil {
				t.Fatal(err)
			}
			if err := f.Truncate(size - 1); err != nil {
				t.Fatal(err)
			}
			failed := get(0, 3999)
			for range 100 { // it is tried again each time
				got := c.Trouble()
				var read *ple.ReadError
				if !errors.As(got, &read) || !errors.Is(failed, read) || read.Table != table.Name() || !strings.Contains(got.Error(), "(table)") {
					t.Fatalf("cut: got %v, want %v with table and file", got, failed)
				}
				runtime.Gosched()
			}
			// As large as before, but with a byte that is not the table's: no row of it may be used.
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(f.Name(), time.Time{}, info.ModTime().Add(time.Second)); err != nil { // the clock of files is coarse
				t.Fatal(err)
			}
			if err := get(0, 3999); !errors.Is(err, ple.ErrRead) || !strings.Contains(err.Error(), "changed") {
				t.Errorf("cut and grown again: got %v, want an error that says it was changed", err)
			}
			for range 100 {
				if c.Trouble() == nil {
					t.Fatal("cut and grown again: got no trouble")
				}
				runtime.Gosched()
			}
			// Put back as it was, with its time.
			if _, err := f.WriteAt(last, size-1); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(f.Name(), time.Time{}, info.ModTime()); err != nil {
				t.Fatal(err)
			}
			for c.Trouble() != nil { // or the test hangs
				runtime.Gosched()
			}
			if err := get(0, 3999); err != nil {
				t.Errorf("put back: %v", err)
			}
		})
	}
}

package ple_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

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
			size := info.Size()
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
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			for c.Trouble() != nil { // or the test hangs
				runtime.Gosched()
			}
		})
	}
}

package ple_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

// heap is memory without a limit.
func heap(bytes int64) ([]byte, error) { return make([]byte, bytes), nil }

// onDisk writes a table's planes to a file, a hole before each, and gives its spec with mapping and file.
func onDisk(t testing.TB, b pletest.Table) (ple.TableSpec, *os.File) {
	t.Helper()
	spec, _ := b.Build()
	path := filepath.Join(t.TempDir(), "table")
	var data []byte
	for i := range spec.Shards {
		for _, p := range []*ple.Span{&spec.Shards[i].Weight, &spec.Shards[i].Scales, &spec.Shards[i].Biases} {
			if p.Len == 0 {
				continue
			}
			data = append(data, "hole"...)
			p.Off = int64(len(data))
			data = append(data, p.Data...)
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	mapping := mapped(t, f, int64(len(data)))
	for i := range spec.Shards {
		for _, p := range []*ple.Span{&spec.Shards[i].Weight, &spec.Shards[i].Scales, &spec.Shards[i].Biases} {
			if p.Len > 0 {
				p.Data, p.Mapping, p.File = mapping[p.Off:p.Off+p.Len:p.Off+p.Len], true, f
			}
		}
	}
	return spec, f
}

func placed(t testing.TB, spec ple.TableSpec, p ple.Placement) *ple.Table {
	t.Helper()
	at, err := spec.Place(p, heap)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ple.OpenTable(at)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Rows are the same wherever they are read from, with the cache and past it, few and many.
func TestPlacementsAgree(t *testing.T) {
	b := pletest.Table{Rows: 6000, Dim: 64, Format: metal.FormatQ4, Group: 32, Shards: 3, Seed: 11}
	plain, _ := openTable(t, b)
	spec, _ := onDisk(t, b)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range []ple.Placement{ple.Auto, ple.Memory, ple.Mmap, ple.File} {
		table := placed(t, spec, p)
		if want := p; table.Placement() != want && !(p == ple.Auto && table.Placement() == ple.Memory) {
			t.Errorf("%s: got %s", p, table.Placement())
		}
		if table.Mapped() != (p != ple.File) {
			t.Errorf("%s: mapped: got %v", p, table.Mapped())
		}
		c := newCache(t, table, 500, ple.CacheOptions{Bulk: 1000})
		for _, n := range []int{1, 16, 64, 999, 3500} {
			ids := make([]int64, n)
			for i := range ids {
				ids[i] = rng.Int64N(6000)
			}
			if p != ple.Memory && p != ple.Auto && runtime.GOOS == "linux" {
				if err := table.Evict(); err != nil {
					t.Fatal(err)
				}
			}
			dst := make([]byte, n*table.RowBytes())
			if err := c.Gather(t.Context(), new(ple.Scratch), dst, ids); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if !bytes.Equal(dst, records(t, plain, ids)) {
				t.Fatalf("%s: %d rows differ from those in memory", p, n)
			}
		}
	}
}

func TestPlacementRefused(t *testing.T) {
	b := pletest.Table{Rows: 60, Dim: 64, Format: metal.FormatQ4, Group: 32, Seed: 12}
	embedded, _ := b.Build()
	file, _ := onDisk(t, b)
	full := errors.New("2400 bytes more than the limit")
	for name, c := range map[string]struct {
		spec ple.TableSpec
		p    ple.Placement
		book error
		is   error
		says string
	}{
		"mmap of an embedded pack":      {embedded, ple.Mmap, nil, ple.ErrPlacement, "embedded"},
		"file of an embedded pack":      {embedded, ple.File, nil, ple.ErrPlacement, "embedded"},
		"no memory":                     {file, ple.Memory, full, full, "2400 bytes of rows into memory"},
		"embedded needs no more memory": {embedded, ple.Memory, full, nil, ""},
		"auto without memory":           {file, ple.Auto, full, nil, ""},
		"unknown":                       {file, 9, nil, ple.ErrPlacement, "9"},
	} {
		at, err := c.spec.Place(c.p, func(n int64) ([]byte, error) { return make([]byte, n), c.book })
		if c.is == nil {
			if err != nil {
				t.Errorf("%s: got %v", name, err)
			} else if c.p == ple.Auto && at.Placement != ple.Mmap {
				t.Errorf("%s: got %s, want mmap", name, at.Placement)
			}
			continue
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), embedded.Name) && c.p != 9 {
			t.Errorf("%s: got %v, want one that says %q and names the table", name, err, c.says)
		}
	}
	if _, err := ple.ParsePlacement("disk"); err == nil || !strings.Contains(err.Error(), "memory, mmap, file") {
		t.Errorf("parse: got %v, want one that lists the placements", err)
	}
	for _, name := range []string{"auto", "memory", "mmap", "file"} {
		if p, err := ple.ParsePlacement(name); err != nil || p.String() != name {
			t.Errorf("parse %s: got %s, %v", name, p, err)
		}
	}
}

// A file that is cut under a running reader is an error for the rows that are gone, from mapping and file alike, and
// never zeros; all of it is read again once the file is what it was, its time of change with it.
func TestTruncatedUnderReader(t *testing.T) {
	b := pletest.Table{Rows: 4000, Dim: 64, Format: metal.FormatQ4, Group: 32, Seed: 13}
	for _, p := range []ple.Placement{ple.Mmap, ple.File} {
		t.Run(p.String(), func(t *testing.T) {
			spec, f := onDisk(t, b)
			table := placed(t, spec, p)
			whole, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			c := newCache(t, table, 0, ple.CacheOptions{})
			get := func(ids ...int64) ([]byte, error) {
				dst := make([]byte, len(ids)*table.RowBytes())
				return dst, c.Gather(t.Context(), new(ple.Scratch), dst, ids)
			}
			want, err := get(0, 3999)
			if err != nil {
				t.Fatal(err)
			}
			weight := spec.Shards[0].Weight
			for name, size := range map[string]int64{
				"nothing left":            0,
				"within the weights":      weight.Off + weight.Len/2,
				"one byte short":          int64(len(whole)) - 1, // the page stays mapped and reads as zero
				"a page and a byte short": int64(len(whole)) - 4097,
			} {
				if err := f.Truncate(size); err != nil {
					t.Fatal(err)
				}
				if _, err := get(0, 3999); !errors.Is(err, ple.ErrRead) {
					t.Errorf("%s: got %v, want ErrRead", name, err)
				}
				if p == ple.Mmap {
					raw := make([]byte, table.RowBytes())
					if err := table.Read(raw, 3999); size == 0 && (!errors.Is(err, ple.ErrRead) || !strings.Contains(err.Error(), "row 3999")) {
						t.Errorf("%s: one row: got %v, want ErrRead that names it", name, err)
					}
				}
				if _, err := f.WriteAt(whole, 0); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(f.Name(), time.Time{}, info.ModTime()); err != nil {
					t.Fatal(err)
				}
				got, err := get(0, 3999)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: whole again: %v", name, err)
				}
			}
			if c.Stats().Errors != 4 {
				t.Errorf("got %d errors, want 4", c.Stats().Errors)
			}
			// A table that is copied when its file has been cut says so, too.
			if err := f.Truncate(100); err != nil {
				t.Fatal(err)
			}
			if _, err := spec.Place(ple.Memory, heap); !errors.Is(err, ple.ErrRead) {
				t.Errorf("copy: got %v, want ErrRead", err)
			}
		})
	}
}

// A table whose planes end behind its file is refused when it is opened, by size, whatever reads it.
func TestFileTooShort(t *testing.T) {
	spec, f := onDisk(t, pletest.Table{Rows: 400, Dim: 64, Format: metal.FormatQ4, Group: 32, Seed: 14})
	if err := f.Truncate(4000); err != nil {
		t.Fatal(err)
	}
	for _, p := range []ple.Placement{ple.Mmap, ple.File} {
		at, err := spec.Place(p, heap)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ple.OpenTable(at); !errors.Is(err, ple.ErrTable) || !strings.Contains(err.Error(), "4000") {
			t.Errorf("%s: got %v, want ErrTable that tells the file's size", p, err)
		}
	}
}

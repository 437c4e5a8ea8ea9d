package ple_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// BenchmarkPlacement reads windows of the released row (100 bytes in three planes) that are not in the row cache, from
// each place, with the file's pages in memory (state=warm) and dropped before every gather (state=cold): 16 rows are a
// token, 64 a round of depth 3, 4,096 a prefill chunk of 256. impl=wide is the file without [ple.Ahead]: over goroutines.
func BenchmarkPlacement(b *testing.B) {
	const rows = 4 << 20
	f, err := os.Create(filepath.Join(b.TempDir(), "table"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	page := make([]byte, 1<<20)
	for range rows * 100 / len(page) {
		for i := 0; i < len(page); i += 8 {
			x := rng.Uint64()
			for j := range 8 {
				page[i+j] = byte(x >> (8 * j))
			}
		}
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	data := mapped(b, f, rows*100)
	span := func(from, n int64) ple.Span {
		return ple.Span{Data: data[from : from+n : from+n], Mapping: true, File: f, Off: from, Len: n}
	}
	spec := ple.TableSpec{Name: "bench", Rows: rows, Dim: 160, Format: metal.FormatQ4, Group: 32,
		Shards: []ple.Shard{{Rows: rows, Weight: span(0, rows*80), Scales: span(rows*80, rows*10), Biases: span(rows*90, rows*10)}}}
	for _, place := range []string{"memory", "mmap", "file", "wide"} {
		p, _ := ple.ParsePlacement(place)
		if place == "wide" {
			p = ple.File
		}
		at, err := spec.Place(p, heap)
		if err != nil {
			b.Fatal(err)
		}
		if place == "wide" {
			at = at.Before(func(r io.ReaderAt) io.ReaderAt { return &plain{r} })
		}
		table, err := ple.OpenTable(at)
		if err != nil {
			b.Fatal(err)
		}
		for _, cold := range []bool{false, true} {
			for _, n := range []int{16, 64, 4096} {
				if cold && p == ple.Memory {
					continue
				}
				state := "warm"
				if cold {
					state = "cold"
				}
				b.Run(fmt.Sprintf("place=%s/state=%s/rows=%d", place, state, n), func(b *testing.B) {
					c := newCache(b, table, 0, ple.CacheOptions{})
					var s ple.Scratch
					ids, dst := make([]int64, n), make([]byte, n*table.RowBytes())
					windows := make([][]int64, 32) // warm ones come again
					for i := range windows {
						windows[i] = make([]int64, n)
					}
					fill := func(ids []int64) {
						for i := range ids {
							ids[i] = rng.Int64N(rows)
						}
					}
					for _, w := range windows {
						fill(w)
						if !cold {
							if err := c.Gather(b.Context(), &s, dst, w); err != nil {
								b.Fatal(err)
							}
						}
					}
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if cold {
							b.StopTimer()
							fill(ids)
							if err := table.Evict(); err != nil {
								b.Fatal(err)
							}
							b.StartTimer()
						} else {
							copy(ids, windows[i%len(windows)])
						}
						if err := c.Gather(b.Context(), &s, dst, ids); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// plain hides that a file can tell cold bytes, but not the file.
type plain struct{ io.ReaderAt }

func (p *plain) Unwrap() io.ReaderAt { return p.ReaderAt }

package ple_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

func openTable(t testing.TB, b pletest.Table) (*ple.Table, *pletest.Reader) {
	t.Helper()
	spec, file := b.Build()
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	return table, file
}

// rowCost is what a cache counts for one row: the record and its bookkeeping.
func rowCost(table *ple.Table) int64 { return int64(table.RowBytes()) + 24 }

func newCache(t testing.TB, table *ple.Table, rows int64, o ple.CacheOptions) *ple.Cache {
	t.Helper()
	c, err := ple.NewCache(table, rows*rowCost(table), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// records is what a gather of ids must give, read row by row.
func records(t testing.TB, table *ple.Table, ids []int64) []byte {
	t.Helper()
	out := make([]byte, 0, len(ids)*table.RowBytes())
	raw := make([]byte, table.RowBytes())
	for _, id := range ids {
		if err := table.Read(raw, id); err != nil {
			t.Fatal(err)
		}
		out = append(out, raw...)
	}
	return out
}

func gather(t testing.TB, c *ple.Cache, ids []int64) {
	t.Helper()
	dst := make([]byte, len(ids)*c.Table().RowBytes())
	if err := c.Gather(t.Context(), new(ple.Scratch), dst, ids); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(dst, records(t, c.Table(), ids)) {
		t.Fatalf("gather of %v: wrong records", ids)
	}
}

// oracle is the order the lane was specified with, said as plainly as can be: an ordered list, oldest first.
type oracle struct {
	rows                    []int64
	max                     int
	hits, misses, evictions int64
}

func (o *oracle) gather(ids []int64) {
	unique := slices.Compact(slices.Sorted(slices.Values(ids)))
	for _, id := range unique { // read all that are missing and insert them
		if slices.Contains(o.rows, id) {
			o.hits++
			continue
		}
		o.misses++
		o.rows = append(o.rows, id)
	}
	for _, id := range unique { // then touch every unique id in sorted order
		o.rows = append(slices.DeleteFunc(o.rows, func(x int64) bool { return x == id }), id)
	}
	if n := len(o.rows) - o.max; n > 0 { // then evict from the old end
		o.evictions += int64(n)
		o.rows = slices.Clone(o.rows[n:])
	}
}

// After any gathers (duplicates, more ids than fit, a cache of one row) the cache holds the rows of the plain list in the
// same order, with the same counters.
func TestCacheOrder(t *testing.T) {
	mapped, _ := openTable(t, pletest.Table{Rows: 60, Dim: 8, Format: metal.FormatQ4, Group: 8, Seed: 1})
	file, _ := openTable(t, pletest.Table{Rows: 60, Dim: 8, Format: metal.FormatQ4, Group: 8, Seed: 1, InFile: true})
	rapid.Check(t, func(r *rapid.T) {
		table := rapid.SampledFrom([]*ple.Table{mapped, file}).Draw(r, "table")
		o := &oracle{max: rapid.IntRange(1, 30).Draw(r, "rows")}
		c := newCache(t, table, int64(o.max), ple.CacheOptions{})
		var s ple.Scratch
		for range rapid.IntRange(1, 12).Draw(r, "gathers") {
			ids := rapid.SliceOfN(rapid.Int64Range(0, 59), 0, 40).Draw(r, "ids")
			dst := make([]byte, len(ids)*table.RowBytes())
			if err := c.Gather(context.Background(), &s, dst, ids); err != nil {
				r.Fatal(err)
			}
			if !bytes.Equal(dst, records(t, table, ids)) {
				r.Fatalf("gather of %v: wrong records", ids)
			}
			o.gather(ids)
			if got := c.Order(); !slices.Equal(got, o.rows) {
				r.Fatalf("order after %v: got %v, want %v", ids, got, o.rows)
			}
		}
		st := c.Stats()
		if st.Hits != o.hits || st.Misses != o.misses || st.Evictions != o.evictions {
			r.Fatalf("counters: got %+v, want hits %d, misses %d, evictions %d", st, o.hits, o.misses, o.evictions)
		}
		if st.Bytes != o.misses*int64(table.RowBytes()) || st.Rows != int64(len(o.rows)) {
			r.Fatalf("bytes: got %+v, want %d bytes and %d rows", st, o.misses*int64(table.RowBytes()), len(o.rows))
		}
	})
}

// Each unique missing row is read once; hits are not read at all.
func TestCacheReads(t *testing.T) {
	table, file := openTable(t, pletest.Table{Rows: 90, Dim: 4, Format: metal.FormatF32, Seed: 2, InFile: true})
	c := newCache(t, table, 90, ple.CacheOptions{})
	gather(t, c, []int64{5, 5, 7, 5})
	before := file.Reads()
	gather(t, c, []int64{7, 5, 8, 8})
	// The helper's check reads the four ids again, one row each.
	if got := file.Reads() - before - 4; got != 1 {
		t.Errorf("reads: got %d, want 1 (row 8)", got)
	}
}

func TestCacheLimits(t *testing.T) {
	table, _ := openTable(t, pletest.Table{Rows: 50, Dim: 16, Format: metal.FormatQ8, Group: 8, Seed: 3})
	for _, tc := range []struct {
		limit int64
		rows  int
	}{{0, 0}, {rowCost(table) - 1, 0}, {rowCost(table), 1}, {10*rowCost(table) + 5, 10}, {1 << 40, 50}} {
		c, err := ple.NewCache(table, tc.limit, ple.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Capacity() != tc.rows {
			t.Errorf("limit %d: got %d rows, want %d", tc.limit, c.Capacity(), tc.rows)
		}
		for i := range int64(50) {
			gather(t, c, []int64{i, 49 - i})
		}
		if got := int(c.Stats().Rows); got != tc.rows {
			t.Errorf("limit %d: got %d rows held, want %d", tc.limit, got, tc.rows)
		}
	}
	if _, err := ple.NewCache(table, -1, ple.CacheOptions{}); err == nil {
		t.Error("negative limit: got no error")
	}
	if _, err := ple.NewCache(table, 1, ple.CacheOptions{Readers: -1}); err == nil {
		t.Error("negative readers: got no error")
	}
}

// A full cache holds about its limit, small or large: at most a slab and the slack of growing slices above it.
func TestCacheHeld(t *testing.T) {
	table, _ := openTable(t, pletest.Table{Rows: 200_000, Dim: 8, Format: metal.FormatQ8, Group: 8, Seed: 4})
	for _, limit := range []int64{1 << 10, 2 << 20} {
		c, err := ple.NewCache(table, limit, ple.CacheOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int64, 500)
		for i := int64(0); i+500 <= 200_000; i += 500 {
			for j := range ids {
				ids[j] = i + int64(j)
			}
			gather(t, c, ids)
		}
		st := c.Stats()
		if st.Held > c.Most() {
			t.Errorf("limit %d: got %d bytes held, want at most %d", limit, st.Held, c.Most())
		}
		if st.Rows != int64(c.Capacity()) || st.Held > 2*limit || st.Limit != limit {
			t.Errorf("got %+v, want %d rows within about %d bytes", st, c.Capacity(), limit)
		}
	}
}

// A bulk gather goes past the LRU and leaves it alone.
func TestCacheBulk(t *testing.T) {
	for _, inFile := range []bool{false, true} {
		table, _ := openTable(t, pletest.Table{Rows: 50, Dim: 3, Format: metal.FormatBF16, Seed: 4, InFile: inFile})
		c := newCache(t, table, 20, ple.CacheOptions{Bulk: 6})
		gather(t, c, []int64{3, 1, 2})
		gather(t, c, []int64{1, 9, 9, 30, 31, 32, 33})
		if got, want := c.Order(), []int64{1, 2, 3}; !slices.Equal(got, want) {
			t.Errorf("in file %v: order: got %v, want %v", inFile, got, want)
		}
		if st := c.Stats(); st.Direct != 7 || st.Misses != 3 || st.Hits != 0 {
			t.Errorf("in file %v: got %+v, want 7 direct, 3 misses", inFile, st)
		}
	}
}

// A failed gather is reported, counted, joins all its reads and leaves the cache as it was; the next one works.
func TestCacheReadError(t *testing.T) {
	table, file := openTable(t, pletest.Table{Rows: 100, Dim: 4, Format: metal.FormatF32, Seed: 5, InFile: true})
	broken := errors.New("disk on fire")
	for _, readers := range []int{1, 4} {
		c := newCache(t, table, 50, ple.CacheOptions{Readers: readers})
		gather(t, c, []int64{1, 2, 3})
		before, stats := c.Order(), c.Stats()
		ids := make([]int64, 64)
		for i := range ids {
			ids[i] = int64(i)
		}
		dst := make([]byte, len(ids)*table.RowBytes())
		file.Fail = func(off int64, n int) error {
			if (off-6)/16 >= 40 {
				return broken
			}
			return nil
		}
		err := c.Gather(t.Context(), new(ple.Scratch), dst, ids)
		if !errors.Is(err, ple.ErrRead) || !errors.Is(err, broken) {
			t.Errorf("readers %d: got %v, want ErrRead and the reader's error", readers, err)
		}
		if file.Busy() != 0 {
			t.Errorf("readers %d: %d reads still under way", readers, file.Busy())
		}
		file.Fail = nil
		if got := c.Order(); !slices.Equal(got, before) {
			t.Errorf("readers %d: order: got %v, want %v", readers, got, before)
		}
		stats.Errors++
		got := c.Stats()
		stats.WaitNanos = got.WaitNanos
		if d := cmp.Diff(stats, got); d != "" {
			t.Errorf("readers %d: counters (-want +got):\n%s", readers, d)
		}
		gather(t, c, ids)
	}
}

func TestCacheRange(t *testing.T) {
	table, _ := openTable(t, pletest.Table{Rows: 10, Dim: 4, Format: metal.FormatF32, Seed: 5})
	c := newCache(t, table, 5, ple.CacheOptions{Bulk: 3})
	for _, ids := range [][]int64{{1, 10}, {-1}, {1, 2, 3, 1 << 62}, {5, -1 << 63}} {
		if err := c.Gather(t.Context(), new(ple.Scratch), make([]byte, len(ids)*16), ids); !errors.Is(err, ple.ErrRead) {
			t.Errorf("ids %v: got %v, want ErrRead", ids, err)
		}
	}
	if st := c.Stats(); st.Rows != 0 || st.Errors != 4 {
		t.Errorf("got %+v, want no rows and 4 errors", st)
	}
}

func TestCacheCancel(t *testing.T) {
	for _, inFile := range []bool{false, true} {
		table, _ := openTable(t, pletest.Table{Rows: 10, Dim: 4, Format: metal.FormatF32, Seed: 5, InFile: inFile})
		c := newCache(t, table, 5, ple.CacheOptions{Bulk: 4})
		gone := errors.New("client gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		for _, ids := range [][]int64{{1, 2}, {1, 2, 3, 4, 5}} {
			err := c.Gather(ctx, new(ple.Scratch), make([]byte, len(ids)*table.RowBytes()), ids)
			if !errors.Is(err, gone) || errors.Is(err, ple.ErrRead) {
				t.Errorf("in file %v, %d ids: got %v, want the cause alone", inFile, len(ids), err)
			}
		}
		if n := c.Stats().Errors; n != 0 {
			t.Errorf("in file %v: a cancel counted as %d read errors", inFile, n)
		}
	}
}

// Many missing rows of a file are read side by side, but by no more goroutines than allowed; few are read inline.
func TestCacheReaders(t *testing.T) {
	table, file := openTable(t, pletest.Table{Rows: 400, Dim: 4, Format: metal.FormatF32, Seed: 6, InFile: true})
	arrived := make(chan struct{}, 400)
	release := make(chan struct{})
	file.Late = func(int64, int) {
		arrived <- struct{}{}
		<-release
	}
	c := newCache(t, table, 400, ple.CacheOptions{Readers: 3})
	run := func(from, n int64) chan error {
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = from + int64(i)
		}
		done := make(chan error, 1)
		go func() { done <- c.Gather(context.Background(), new(ple.Scratch), make([]byte, n*16), ids) }()
		return done
	}
	wide := run(0, 64)
	for range 3 {
		<-arrived // three reads wait at once
	}
	close(release)
	if err := <-wide; err != nil {
		t.Fatal(err)
	}
	if got := file.Peak(); got != 3 {
		t.Errorf("reads at once: got %d, want 3", got)
	}
	few, file := openTable(t, pletest.Table{Rows: 400, Dim: 4, Format: metal.FormatF32, Seed: 6, InFile: true})
	c = newCache(t, few, 400, ple.CacheOptions{})
	gather(t, c, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	if got := file.Peak(); got != 1 {
		t.Errorf("reads at once for few rows: got %d, want 1", got)
	}
}

// Gathers of many goroutines at once, over a cache too small for them, each get their own rows, and the cache stays sound.
func TestCacheConcurrent(t *testing.T) {
	for _, inFile := range []bool{false, true} {
		table, _ := openTable(t, pletest.Table{Rows: 300, Dim: 8, Format: metal.FormatQ4, Group: 8, Shards: 3, Seed: 7, InFile: inFile})
		c := newCache(t, table, 90, ple.CacheOptions{Readers: 2, Bulk: 60})
		all := make([]int64, 300)
		for i := range all {
			all[i] = int64(i)
		}
		want := records(t, table, all)
		n := table.RowBytes()
		var wg sync.WaitGroup
		errs := make(chan error, 8)
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 9))
				var s ple.Scratch
				for range 300 {
					ids := make([]int64, 1+rng.IntN(70))
					for i := range ids {
						ids[i] = rng.Int64N(300)
					}
					dst := make([]byte, len(ids)*n)
					if err := c.Gather(context.Background(), &s, dst, ids); err != nil {
						errs <- err
						return
					}
					for i, id := range ids {
						if !bytes.Equal(dst[i*n:(i+1)*n], want[id*int64(n):(id+1)*int64(n)]) {
							errs <- fmt.Errorf("goroutine %d: row %d: wrong record", g, id)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
		order, set := c.Order(), map[int64]bool{}
		for _, id := range order {
			set[id] = true
		}
		if len(order) != 90 || len(set) != 90 {
			t.Errorf("rows held: got %d, %d different (%v), want 90", len(order), len(set), slices.Sorted(maps.Keys(set)))
		}
		if st := c.Stats(); st.Hits == 0 || st.Misses == 0 || st.Direct == 0 || st.Evictions == 0 {
			t.Errorf("got %+v, want every path used", st)
		}
	}
}

// Steady state allocates nothing, hit or miss.
func TestCacheAllocs(t *testing.T) {
	table, _ := openTable(t, pletest.Table{Rows: 5000, Dim: 160, Format: metal.FormatQ4, Group: 32, Seed: 8})
	c := newCache(t, table, 1000, ple.CacheOptions{})
	rng := rand.New(rand.NewPCG(1, 1))
	ids, dst := make([]int64, 64), make([]byte, 64*table.RowBytes())
	var s ple.Scratch
	round := func() {
		for i := range ids {
			ids[i] = rng.Int64N(2000)
		}
		if err := c.Gather(context.Background(), &s, dst, ids); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("allocations per gather: got %v, want 0", n)
	}
	if st := c.Stats(); st.Hits == 0 || st.Evictions == 0 {
		t.Errorf("got %+v, want hits and evictions", st)
	}
}

// One round of the released geometry: 64 rows of 100 bytes. impl=hit is all hits, impl=miss all misses and evictions,
// impl=direct the same rows from mapped memory without a cache, impl=file cold rows by positional
// reads; -small is a table that sits in the processor's cache.
func BenchmarkGather(b *testing.B) {
	small, _ := openTable(b, pletest.Table{Rows: 4096, Dim: 160, Format: metal.FormatQ4, Group: 32, Seed: 8})
	build := pletest.Table{Rows: 1 << 20, Dim: 160, Format: metal.FormatQ4, Group: 32, Seed: 8}
	mapped, _ := openTable(b, build)
	build.InFile = true
	file, _ := openTable(b, build)
	rng := rand.New(rand.NewPCG(1, 1))
	// Many windows, so that the rows do not sit in the nearest cache.
	windows := make([][]int64, 1024)
	for i := range windows {
		windows[i] = make([]int64, 64)
		for j := range windows[i] {
			windows[i][j] = rng.Int64N(1 << 20)
		}
	}
	for _, bm := range []struct {
		name   string
		table  *ple.Table
		rows   int64
		direct bool
	}{{"hit", mapped, 1 << 20, false}, {"miss", mapped, 4096, false}, {"direct", mapped, 0, true}, {"file", file, 4096, false},
		{"hit-small", small, 4096, false}, {"direct-small", small, 0, true}} {
		b.Run("impl="+bm.name+"/rows=64", func(b *testing.B) {
			c := newCache(b, bm.table, bm.rows, ple.CacheOptions{})
			var s ple.Scratch
			dst := make([]byte, 64*bm.table.RowBytes())
			get := c.Gather
			if bm.direct {
				get = c.Direct
			}
			ids := make([]int64, 64)
			window := func(i int) []int64 {
				for j, id := range windows[i%len(windows)] {
					ids[j] = id % bm.table.Rows()
				}
				return ids
			}
			for i := range windows {
				w := window(i)
				if err := get(b.Context(), &s, dst, w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(dst)))
			for i := 0; b.Loop(); i++ {
				if err := get(b.Context(), &s, dst, window(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package ple_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

// openAhead is a table of 100 rows over 3 planes in a file that tells cold bytes: rows from 50 on.
func openAhead(t *testing.T) (*ple.Table, *pletest.Ahead, ple.Shard) {
	t.Helper()
	spec, file := pletest.Table{Rows: 100, Dim: 16, Format: metal.FormatQ4, Group: 8, Seed: 21, InFile: true}.Build()
	a := &pletest.Ahead{Reader: pletest.Reader{Data: file.Data}}
	sh := &spec.Shards[0]
	for _, p := range []*ple.Span{&sh.Weight, &sh.Scales, &sh.Biases} {
		p.File = a
	}
	a.Cold = func(off int64, n int) bool {
		for _, p := range []ple.Span{sh.Weight, sh.Scales, sh.Biases} {
			if off >= p.Off && off < p.Off+p.Len {
				return (off-p.Off)/(p.Len/100) >= 50
			}
		}
		return false
	}
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	return table, a, *sh
}

// Warm parts are copied and cost nothing else; cold ones are all asked for, plane by plane and ascending, before the first
// is waited for.
func TestReadAhead(t *testing.T) {
	table, file, sh := openAhead(t)
	c := newCache(t, table, 100, ple.CacheOptions{})
	ids := []int64{90, 3, 60, 3, 50, 49}
	dst := make([]byte, len(ids)*table.RowBytes())
	if err := c.Gather(t.Context(), new(ple.Scratch), dst, ids); err != nil {
		t.Fatal(err)
	}
	var asked, waited []string
	for _, p := range []ple.Span{sh.Weight, sh.Scales, sh.Biases} {
		n := p.Len / 100
		for _, row := range []int64{3, 49} {
			asked = append(asked, fmt.Sprintf("now %d+%d", p.Off+row*n, n))
		}
		for _, row := range []int64{50, 60, 90} {
			asked = append(asked, fmt.Sprintf("fetch %d+%d", p.Off+row*n, n))
			waited = append(waited, fmt.Sprintf("wait %d+%d", p.Off+row*n, n))
		}
	}
	if got, want := file.Log(), append(asked, waited...); !slices.Equal(got, want) {
		t.Errorf("reads: got %v, want %v", got, want)
	}
	plain, _ := openTable(t, pletest.Table{Rows: 100, Dim: 16, Format: metal.FormatQ4, Group: 8, Seed: 21})
	if !bytes.Equal(dst, records(t, plain, ids)) {
		t.Error("records differ from those in memory")
	}
	if st := c.Stats(); st.Cold != 9 || st.Misses != 5 || st.Bytes != int64(5*table.RowBytes()) {
		t.Errorf("got %+v, want 9 cold reads of 5 missing rows", st)
	}
	if err := c.Gather(t.Context(), new(ple.Scratch), dst, ids); err != nil || len(file.Log()) != 0 {
		t.Errorf("rows in the cache were asked for again: %v", err)
	}
}

// Rows of a mapping are copied from it until one is slow; then a few are asked about, and if one of them is on disk all the
// rest is read ahead, else the mapping goes on.
func TestReadMapping(t *testing.T) {
	table, file, sh := openAhead(t)
	spec := ple.TableSpec{Name: "mapped", Rows: 100, Dim: 16, Format: metal.FormatQ4, Group: 8, Shards: []ple.Shard{sh}}
	for _, p := range []*ple.Span{&spec.Shards[0].Weight, &spec.Shards[0].Scales, &spec.Shards[0].Biases} {
		p.Mapping, p.Data = true, file.Data[p.Off:p.Off+p.Len:p.Off+p.Len]
	}
	mapped, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		slow time.Duration
		ids  []int64
		want string // kinds of calls, of all three planes
	}{
		{"none is slow", time.Hour, []int64{1, 2, 51, 52}, ""},
		{"slow, but warm", time.Nanosecond, []int64{1, 2, 3, 4, 5, 6}, "now:12"},
		{"slow, and cold within the probe", time.Nanosecond, []int64{1, 2, 51, 52}, "now:1 fetch:2 now:1 fetch:2 now:1 fetch:2 now:1 fetch:2 now:1 fetch:2 now:1 fetch:2 wait:6"},
		{"slow, and cold later", time.Nanosecond, []int64{1, 2, 3, 4, 5, 6, 60, 61}, "now:12 fetch:12 wait:6"},
	} {
		c := newCache(t, mapped, 100, ple.CacheOptions{SlowRow: tc.slow})
		dst := make([]byte, len(tc.ids)*mapped.RowBytes())
		file.Log()
		if err := c.Gather(t.Context(), new(ple.Scratch), dst, tc.ids); err != nil {
			t.Fatal(err)
		}
		calls := runs(file.Log())
		if !bytes.Equal(dst, records(t, table, tc.ids)) {
			t.Errorf("%s: records differ", tc.name)
		}
		if calls != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, calls, tc.want)
		}
	}
}

// runs tells how often each kind of call came in a row.
func runs(log []string) string {
	var out []string
	for i := 0; i < len(log); {
		what, _, _ := strings.Cut(log[i], " ")
		n := 0
		for ; i < len(log) && strings.HasPrefix(log[i], what+" "); i++ {
			n++
		}
		out = append(out, fmt.Sprintf("%s:%d", what, n))
	}
	return strings.Join(out, " ")
}

// A long gather asks for so many rows at a time, so that pages are used before they are dropped.
func TestReadAheadLong(t *testing.T) {
	spec := pletest.Table{Rows: 5000, Dim: 4, Format: metal.FormatF32, Seed: 22, InFile: true}
	long, reader := spec.Build()
	a := &pletest.Ahead{Reader: pletest.Reader{Data: reader.Data}, Cold: func(int64, int) bool { return true }}
	long.Shards[0].Weight.File = a
	table, err := ple.OpenTable(long)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, 3000)
	for i := range ids {
		ids[i] = int64(i)
	}
	dst := make([]byte, len(ids)*table.RowBytes())
	if err := newCache(t, table, 0, ple.CacheOptions{}).Gather(t.Context(), new(ple.Scratch), dst, ids); err != nil {
		t.Fatal(err)
	}
	if got, want := runs(a.Log()), "fetch:1024 wait:1024 fetch:1024 wait:1024 fetch:952 wait:952"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A failed read is the gather's error whichever way the row came; a file that cannot tell after all is read the other way.
func TestReadAheadFails(t *testing.T) {
	table, file, _ := openAhead(t)
	c := newCache(t, table, 100, ple.CacheOptions{})
	dst := make([]byte, 2*table.RowBytes())
	broken := errors.New("disk on fire")
	file.Fail = func(int64, int) error { return broken }
	if err := c.Gather(t.Context(), new(ple.Scratch), dst, []int64{1, 99}); !errors.Is(err, ple.ErrRead) || !errors.Is(err, broken) || !strings.Contains(err.Error(), "row 99: weight") {
		t.Errorf("got %v, want ErrRead of row 99's weight and the reader's error", err)
	}
	if st := c.Stats(); st.Rows != 0 || st.Errors != 1 {
		t.Errorf("got %+v, want no rows and one error", st)
	}
	file.Fail, file.Err = nil, fmt.Errorf("preadv2: %w", errors.ErrUnsupported)
	file.Log()
	for range 2 {
		gather(t, c, []int64{1, 99})
	}
	for _, line := range file.Log() {
		if !strings.HasPrefix(line, "wait") {
			t.Errorf("got %q from a file that cannot tell", line)
		}
	}
	gone := errors.New("client gone")
	table, file, _ = openAhead(t)
	c = newCache(t, table, 100, ple.CacheOptions{})
	ctx, cancel := cancelled(t, gone)
	file.Late = func(int64, int) { cancel() }
	if err := c.Gather(ctx, new(ple.Scratch), dst, []int64{98, 99}); !errors.Is(err, gone) || file.Reads() != 1 {
		t.Errorf("cancelled after one read: got %v and %d reads", err, file.Reads())
	}
}

// cancelled is a context that ends with cause when told to.
func cancelled(t *testing.T, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	return ctx, func() { cancel(cause) }
}

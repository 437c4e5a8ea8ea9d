package model_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/ple"
)

// faulty is a table file some rows of which cannot be read.
type faulty struct {
	io.ReaderAt
	row int64
	bad []int64
	err error
}

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if slices.Contains(f.bad, off/f.row) {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestReadErrorHurtsOneSegment fails the n-gram rows of one sequence of two; the other's bits stay what they are, and the
// first may try again once the rows can be read.
func TestReadErrorHurtsOneSegment(t *testing.T) {
	g := packtest.Tiny()
	p := packtest.Open(t, g, 61, packtest.Options{})
	m := modeltest.Load(t, p, modeltest.CPU(t, 1))
	idsA, idsB := tokens(g, 1, 20), tokens(g, 2, 20)
	want := modeltest.NewRunner(t, m, 64).Feed(idsA, 64, model.LogitsAll)[16:]
	wantB := modeltest.NewRunner(t, m, 64).Feed(idsB, 64, model.LogitsAll)[16:]

	spec, err := p.NgramTable(0)
	if err != nil {
		t.Fatal(err)
	}
	var table []byte
	for i, s := range spec.Shards {
		table = append(table, s.Weight.Data...)
		if s.Weight.Data == nil {
			t.Fatalf("shard %d is not in memory", i)
		}
	}
	hash := m.PLE[0].Hash
	rowsA, rowsB := make([]int64, 4*hash.PerRow()), make([]int64, 4*hash.PerRow())
	hash.IDs(rowsA, idsA[:16], idsA[16:])
	hash.IDs(rowsB, idsB[:16], idsB[16:])
	file := &faulty{ReaderAt: bytes.NewReader(table), row: int64(len(table)) / spec.Rows, err: errors.New("disk on fire")}
	for _, id := range rowsB {
		if !slices.Contains(rowsA, id) {
			file.bad = append(file.bad, id)
		}
	}
	if len(file.bad) == 0 {
		t.Fatal("the sequences share all rows")
	}
	spec.Shards = []ple.Shard{{Rows: spec.Rows, Weight: ple.Span{File: file, Len: int64(len(table))}}}
	broken, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := ple.NewCache(broken, 0, ple.CacheOptions{})
	if err != nil {
		t.Fatal(err)
	}

	a, b := modeltest.NewRunner(t, m, 64), modeltest.NewRunner(t, m, 64)
	a.Feed(idsA[:16], 64, model.LogitsNone)
	b.Feed(idsB[:16], 64, model.LogitsNone)
	before := digest(t, b)
	good := m.PLE[0].Cache
	m.PLE[0].Cache = cache
	segA, segB := a.Segment(idsA[16:], true, model.LogitsAll), b.Segment(idsB[16:], true, model.LogitsAll)
	a.Run(segB, segA)
	same(t, "beside a failed read", modeltest.Logits(t, m, a.Pass, segA), want)
	var at *model.SegmentError
	for name, err := range map[string]error{
		"logits": a.Pass.LogitsRow(make([]float32, g.Vocab), segB, 0),
		"commit": a.Pass.Commit(segB, 1),
	} {
		if !errors.Is(err, file.err) || !errors.As(err, &at) || at.Seg != segB {
			t.Errorf("%s: got %v, want %v, blaming the segment", name, err, file.err)
		}
	}
	a.Commit(a.Pass, segA, 4)
	a.Pass.Abort(segB)
	sameState(t, "after a failed read", digest(t, b), before)

	m.PLE[0].Cache = good
	again := b.Segment(idsB[16:], true, model.LogitsAll)
	b.Run(again)
	same(t, "read again", modeltest.Logits(t, m, b.Pass, again), wantB)
}

// TestRoundsAllocateLittle counts the allocations of steady verify rounds.
func TestRoundsAllocateLittle(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 62, packtest.Options{}), modeltest.CPU(t, 1))
	r := modeltest.NewRunner(t, m, 64)
	ids := tokens(g, 1, 64)
	r.Feed(ids, 64, model.LogitsNone)
	if err := r.Seq.Reserve(1000); err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, g.Vocab)
	seg := r.Segment(ids[:4], true, model.LogitsAll)
	segs := []*model.Segment{seg}
	ctx := context.Background()
	round := func() {
		seg.History = ids[60:]
		if err := r.Pass.Run(ctx, segs); err != nil {
			t.Fatal(err)
		}
		if err := r.Pass.LogitsRow(logits, seg, 3); err != nil {
			t.Fatal(err)
		}
		kept, err := r.Pass.Keep(seg, 0, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Pass.Commit(seg, 3); err != nil {
			t.Fatal(err)
		}
		if err := r.Pass.Settle(seg); err != nil {
			t.Fatal(err)
		}
		kept.Free()
	}
	round()
	device := m.Device.Used()
	got := testing.AllocsPerRun(50, round)
	t.Logf("%.0f allocations a round of %d layers", got, len(m.Layers))
	if limit := float64(12 * len(m.Layers)); got > limit {
		t.Errorf("got %.0f allocations a round, want at most %.0f", got, limit)
	}
	if now := m.Device.Used(); now != device {
		t.Errorf("device memory: got %d bytes more after 50 rounds, want none", now-device)
	}
}

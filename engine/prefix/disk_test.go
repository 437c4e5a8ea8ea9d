package prefix

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// filled is a sequence of random values, long enough for any snapshot of a test, and the streams of its rows.
type filled struct {
	m     *maker
	seq   *state.Sequence
	x     []float32
	width int
}

const filledLen = 3000

func (m *maker) filled(seed uint64) *filled {
	m.t.Helper()
	seq, err := state.New(m.shape, m.dev, state.Options{Positions: filledLen})
	if err != nil {
		m.t.Fatal(err)
	}
	if seq.MTP, err = state.NewMTPCaches(m.dev, m.shape.Attention[0], m.shape.Positions); err != nil {
		m.t.Fatal(err)
	}
	if err := seq.MTP.Reserve(m.st, 0, filledLen); err != nil {
		m.t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	random := func(n int) []float32 {
		f := make([]float32, n)
		for i := range f {
			f[i] = rng.Float32()
		}
		return f
	}
	vecs := []metal.Vec{seq.Recurrent[0].State.Now(), seq.Recurrent[0].Tail.Now(), seq.Planes[0].Now()}
	for _, a := range []*state.Attention{seq.Attention[0], &seq.MTP.Attention} {
		vecs = append(vecs, metal.NewVec(a.K), metal.NewVec(a.V), metal.NewVec(a.Raw), metal.NewVec(a.Bank.Keys.Buf))
	}
	for _, v := range vecs {
		m.st.Write(v, random(v.N))
	}
	return &filled{m: m, seq: seq, x: random(3 * filledLen), width: 3}
}

// take cuts the sequence to n positions, as if it had had no more, and takes a snapshot with lag rows of streams.
func (f *filled) take(n, lag int, parent *state.Snapshot) *state.Snapshot {
	m := f.m
	m.t.Helper()
	kept, err := m.shelf.Take(n-lag, lag)
	if err != nil {
		m.t.Fatal(err)
	}
	defer kept.Free()
	m.st.Write(metal.Vec{Buf: kept.X.Buf, N: 3 * lag}, f.x[3*(n-lag):3*n])
	f.seq.Len, f.seq.MTP.Len = n, n-lag
	f.seq.Attention[0].Bank.Blocks, f.seq.MTP.Bank.Blocks = n/4, (n-lag)/4
	s, err := state.Take(m.st, f.seq, state.TakeOptions{Kept: kept, Prompt: n, Parent: parent, Account: m.tree})
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// content restores a snapshot and hashes it.
func (m *maker) content(s *state.Snapshot) map[string][32]byte {
	m.t.Helper()
	seq, kept, err := state.Restore(m.st, m.shape, m.dev, s, state.RestoreOptions{Drafts: true, Shelf: m.shelf})
	if err != nil {
		m.t.Fatal(err)
	}
	defer seq.Release()
	defer kept.Free()
	d, err := seq.Digest(m.st)
	if err != nil {
		m.t.Fatal(err)
	}
	x := make([]float32, kept.Rows*3)
	if err := m.st.Read(x, metal.Vec{Buf: kept.X.Buf, N: len(x)}); err != nil {
		m.t.Fatal(err)
	}
	var sum [32]byte
	copy(sum[:], appendChunk(nil, x))
	d["kept"] = sum
	return d
}

func (m *maker) disk(dir string, limit int64) *Disk {
	m.t.Helper()
	d, err := OpenDisk(dir, DiskOptions{Pack: "pack", Device: m.dev.Info(), Shape: m.shape, Limit: limit})
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

func (m *maker) save(d *Disk, ids []int32, s *state.Snapshot) {
	m.t.Helper()
	if err := d.Save(context.Background(), m.st, ids, s); err != nil {
		m.t.Fatal(err)
	}
}

func (m *maker) load(d *Disk, ids []int32, parent *state.Snapshot) (*state.Snapshot, error) {
	return d.Load(context.Background(), m.st, m.dev, ids, Want{Prompt: len(ids), Drafts: true}, LoadOptions{Parent: parent, Account: m.tree})
}

func closed(t *testing.T, d *Disk) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

var drafting = Want{Prompt: 1 << 20, Drafts: true}

// key is n tokens that begin like all others of the same letter.
func key(letter string, n int) []int32 { return ids(strings.Repeat(letter, n)) }

// TestDiskOutlivesTheProcess saves a path of snapshots and loads them from a fresh store: with the same bits, shared rows
// stored once, and shared again in memory.
func TestDiskOutlivesTheProcess(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	dir := t.TempDir()
	f := m.filled(1)
	lens := []int{1, 7, 100, 2900}
	var want []map[string][32]byte
	var parent *state.Snapshot
	d := m.disk(dir, 1<<30)
	written := int64(0)
	for i, n := range lens {
		lag := 1 + i%2*3
		s := f.take(n, lag, parent)
		want = append(want, m.content(s))
		m.save(d, key("a", n), s)
		m.save(d, key("a", n), s) // again: nothing to do
		written += s.Bytes()
		if parent != nil {
			parent.Release()
		}
		parent = s
	}
	if s := d.Stats(); s.Saves != 4 || s.Written != written || s.Entries != 4 || s.Bytes != written+4*(1+7+100+2900) {
		t.Errorf("got %+v, want 4 saves of %d bytes: shared rows once", s, written)
	}
	parent.Release()
	f.seq.Release()
	closed(t, d)

	d = m.disk(dir, 1<<30)
	defer closed(t, d)
	for ask, want := range map[int]int{0: 0, 1: 0, 2: 1, 7: 1, 8: 7, 2900: 100, 3000: 2900} {
		if got := d.Lookup(key("a", ask), drafting); got != want {
			t.Errorf("lookup of %d tokens: got %d, want %d", ask, got, want)
		}
	}
	if got := d.Lookup(append(key("a", 50), key("b", 3000)...), drafting); got != 7 {
		t.Errorf("lookup of a fork: got %d, want 7", got)
	}
	var parents *state.Snapshot
	for i, n := range lens {
		s, err := m.load(d, key("a", n), parents)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(m.content(s), want[i]) {
			t.Errorf("%d tokens: other content", n)
		}
		if parents != nil {
			parents.Release()
		}
		parents = s
	}
	if got, want := m.tree.Stats().Bytes, parents.Held(); got != want {
		t.Errorf("got %d bytes in memory, want the %d that the last holds: rows are shared", got, want)
	}
	parents.Release()
	alone, err := m.load(d, key("a", 2900), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(m.content(alone), want[3]) {
		t.Error("2900 tokens alone: other content")
	}
	alone.Release()
	if _, err := m.load(d, key("a", 8), nil); !errors.Is(err, ErrNotStored) {
		t.Errorf("got %v, want %v", err, ErrNotStored)
	}
}

// TestFetch finds the longer of memory and disk.
func TestFetch(t *testing.T) {
	m := newMaker(t, false, 1<<20)
	d := m.disk(t.TempDir(), 1<<30)
	defer closed(t, d)
	f := m.filled(2)
	defer f.seq.Release()
	s := f.take(50, 1, nil)
	h, err := m.tree.Insert(key("a", 50), s)
	if err != nil {
		t.Fatal(err)
	}
	long := f.take(80, 1, s)
	m.save(d, key("a", 80), long)
	want := m.content(long)
	long.Release()
	h.Release()
	for range 2 { // from disk, then from memory
		h, n, why := Fetch(context.Background(), m.st, m.dev, m.tree, d, key("a", 90), drafting)
		if why != nil || n != 80 || !maps.Equal(m.content(h.Snapshot()), want) {
			t.Errorf("got %d tokens (%v), want 80 with their content", n, why)
		}
		h.Release()
	}
	if s := d.Stats(); s.Loads != 1 {
		t.Errorf("got %d loads, want 1", s.Loads)
	}
	m.tree.Evict(1 << 40)
	m.tree.SetLimit(500)
	if h, n, why := Fetch(context.Background(), m.st, m.dev, m.tree, d, key("a", 90), drafting); h != nil || n != 0 || !errors.Is(why, metal.ErrMemory) {
		t.Errorf("no room: got %d tokens, %v", n, why)
	}
	m.tree.SetLimit(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if h, n, why := Fetch(ctx, m.st, m.dev, m.tree, d, key("a", 90), drafting); h != nil || n != 0 || !errors.Is(why, context.Canceled) {
		t.Errorf("cancelled: got %d tokens, %v", n, why)
	}
	if d.Lookup(key("a", 90), drafting) != 80 {
		t.Error("no room or a cancel cost a stored snapshot")
	}
	if h, n, _ := Fetch(context.Background(), m.st, m.dev, m.tree, nil, key("a", 90), drafting); h != nil || n != 0 {
		t.Error("found something without a disk")
	}
}

// TestDiskLimit keeps what was used last, also over a restart, gives the file's pages back, and refuses what is too large.
func TestDiskLimit(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	dir := t.TempDir()
	f := m.filled(3)
	defer f.seq.Release()
	s := f.take(2000, 1, nil)
	defer s.Release()
	one := s.Bytes() + 4*2000
	d := m.disk(dir, 3*one+100)
	for _, k := range []string{"a", "b", "c"} {
		m.save(d, key(k, 2000), s)
	}
	load := func(k string) {
		t.Helper()
		s, err := m.load(d, key(k, 2000), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
	load("a")
	closed(t, d)
	d = m.disk(dir, 3*one+100)
	m.save(d, key("d", 2000), s) // b goes
	for k, want := range map[string]int{"a": 2000, "b": 0, "c": 2000, "d": 2000} {
		if got := d.Lookup(key(k, 2001), drafting); got != want {
			t.Errorf("%s: got %d tokens, want %d", k, got, want)
		}
	}
	big := f.take(2999, 1, nil)
	defer big.Release()
	closed(t, d)
	size := fileSize(t, dir)
	d = m.disk(dir, one+100)
	if s := d.Stats(); s.Entries != 1 || s.Bytes != one {
		t.Errorf("with a smaller limit: got %+v, want one snapshot", s)
	}
	if d.Lookup(key("d", 2001), drafting) != 2000 {
		t.Error("the one used last is gone")
	}
	if err := d.Save(context.Background(), m.st, key("a", 2999), big); !errors.Is(err, ErrDiskLimit) {
		t.Errorf("too large: got %v, want %v", err, ErrDiskLimit)
	}
	load("d")
	closed(t, d)
	if got := fileSize(t, dir); got > size/2 || got > 2*one {
		t.Errorf("got a file of %d bytes, want less than half of %d and not much over %d", got, size, one)
	}
}

func fileSize(t *testing.T, dir string) int64 {
	t.Helper()
	i, err := os.Stat(filepath.Join(dir, diskFile))
	if err != nil {
		t.Fatal(err)
	}
	return i.Size()
}

// TestDiskSharedPartsStay evicts the snapshot whose rows another stands on.
func TestDiskSharedPartsStay(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	dir := t.TempDir()
	f := m.filled(4)
	defer f.seq.Release()
	a := f.take(1000, 1, nil)
	b := f.take(1500, 1, a)
	want := m.content(b)
	d := m.disk(dir, a.Bytes()+b.Bytes()+4*2500)
	m.save(d, key("a", 1000), a)
	m.save(d, key("a", 1500), b)
	c := f.take(8, 1, nil)
	m.save(d, key("c", 8), c)
	for _, s := range []*state.Snapshot{a, b, c} {
		s.Release()
	}
	if got := d.Lookup(key("a", 1001), drafting); got != 0 {
		t.Errorf("got %d tokens, want the oldest evicted", got)
	}
	for range 2 {
		s, err := m.load(d, key("a", 1500), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(m.content(s), want) {
			t.Error("other content")
		}
		s.Release()
		closed(t, d)
		d = m.disk(dir, 1<<20)
	}
	closed(t, d)
}

// TestDiskDamage flips bytes in chunks, takes chunks away, cuts the file and writes nonsense over it: always a miss, counted,
// and the store goes on.
func TestDiskDamage(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	f := m.filled(5)
	defer f.seq.Release()
	s := f.take(2000, 1, nil)
	defer s.Release()
	other := f.take(30, 1, nil)
	defer other.Release()
	want := m.content(s)
	for name, hurt := range map[string]func(d *Disk, path string) error{
		"chunk damaged": func(d *Disk, _ string) error {
			_, err := d.db.Exec(`update chunks set data = substr(data, 1, 100) || x'ff' || substr(data, 102) where length(data) > 20000`)
			return err
		},
		"chunk short": func(d *Disk, _ string) error {
			_, err := d.db.Exec(`update chunks set data = substr(data, 1, 100) where length(data) > 20000`)
			return err
		},
		"chunk gone": func(d *Disk, _ string) error {
			_, err := d.db.Exec(`delete from chunks where length(data) > 20000`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := m.disk(dir, 1<<30)
			m.save(d, key("a", 2000), s)
			m.save(d, key("b", 30), other)
			if err := hurt(d, dir); err != nil {
				t.Fatal(err)
			}
			before := m.tree.Stats().Bytes
			if _, err := m.load(d, key("a", 2000), nil); !errors.Is(err, ErrNotStored) {
				t.Errorf("got %v, want %v", err, ErrNotStored)
			}
			if got := m.tree.Stats().Bytes; got != before {
				t.Errorf("got %d bytes booked after the failure, want %d", got, before)
			}
			if st := d.Stats(); st.Corrupt != 1 || st.Entries != 1 || d.Lookup(key("a", 2001), drafting) != 0 {
				t.Errorf("got %+v, want one removed", st)
			}
			if o, err := m.load(d, key("b", 30), nil); err != nil {
				t.Errorf("the other is gone too: %v", err)
			} else {
				o.Release()
			}
			m.save(d, key("a", 2000), s)
			back, err := m.load(d, key("a", 2000), nil)
			if err != nil || !maps.Equal(m.content(back), want) {
				t.Fatalf("saved again: %v", err)
			}
			back.Release()
			closed(t, d)
		})
	}
	for name, hurt := range map[string]func(b []byte) []byte{
		"nonsense":      func(b []byte) []byte { return []byte(strings.Repeat("nonsense", 10000)) },
		"header":        func(b []byte) []byte { copy(b, "not a database at all"); return b },
		"cut":           func(b []byte) []byte { return b[:len(b)/2] },
		"cut in a page": func(b []byte) []byte { return b[:20000] },
		"empty":         func(b []byte) []byte { return nil },
		"middle": func(b []byte) []byte {
			for i := len(b) / 3; i < 2*len(b)/3; i++ {
				b[i] ^= 0x5a
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := m.disk(dir, 1<<30)
			m.save(d, key("a", 2000), s)
			m.save(d, key("b", 30), other)
			closed(t, d)
			path := filepath.Join(dir, diskFile)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, hurt(b), 0o600); err != nil {
				t.Fatal(err)
			}
			d = m.disk(dir, 1<<30)
			got, err := m.load(d, key("a", 2000), nil)
			if err == nil && !maps.Equal(m.content(got), want) {
				t.Error("damaged content came back as good")
			}
			if err == nil {
				got.Release()
			} else if !errors.Is(err, ErrNotStored) {
				t.Errorf("got %v, want %v", err, ErrNotStored)
			}
			closed(t, d)
		})
	}
}

// TestDiskKilled stops a save after every transaction, as a kill would, and opens the file again: what was there before is
// there, what was being written is reclaimed.
func TestDiskKilled(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	f := m.filled(6)
	defer f.seq.Release()
	first := f.take(500, 1, nil)
	defer first.Release()
	second := f.take(2900, 1, first)
	defer second.Release()
	want := m.content(first)
	reclaimed := int64(0)
	for n := 1; ; n++ {
		dir := t.TempDir()
		d := m.disk(dir, 1<<30)
		m.save(d, key("a", 500), first)
		// The process dies at the n-th read of the device.
		st := &dying{Stream: m.st, left: n}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			_ = d.Save(context.Background(), st, key("a", 2900), second)
		}()
		<-done
		died := st.left <= 0
		copyTo := t.TempDir()
		for _, suffix := range []string{"", "-wal"} { // what the disk has at this moment
			b, err := os.ReadFile(filepath.Join(dir, diskFile+suffix))
			if err == nil {
				err = os.WriteFile(filepath.Join(copyTo, diskFile+suffix), b, 0o600)
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := d.db.Close(); err != nil {
			t.Fatal(err)
		}
		d = m.disk(copyTo, 1<<30)
		reclaimed += d.Stats().Reclaimed
		if got := d.Lookup(key("a", 2901), drafting); got != map[bool]int{true: 500, false: 2900}[died] {
			t.Errorf("killed at %d: got %d tokens", n, got)
		}
		s, err := m.load(d, key("a", 500), nil)
		if err != nil || !maps.Equal(m.content(s), want) {
			t.Fatalf("killed at %d: %v", n, err)
		}
		s.Release()
		for _, q := range []string{`select count(*) from parts where id not in (select part from uses)`, `select count(*) from chunks where part not in (select id from parts)`} {
			var left int
			if err := d.db.QueryRow(q).Scan(&left); err != nil || left != 0 {
				t.Errorf("killed at %d: got %d orphans (%v)", n, left, err)
			}
		}
		closed(t, d)
		if !died {
			break
		}
	}
	if reclaimed == 0 {
		t.Error("no save left anything to reclaim")
	}
}

// dying panics at a read.
type dying struct {
	metal.Stream
	left int
}

func (d *dying) Read(dst []float32, src metal.Vec) error {
	if d.left--; d.left <= 0 {
		panic("killed")
	}
	return d.Stream.Read(dst, src)
}

// failing returns an error at a read.
type failing struct {
	metal.Stream
	left int
}

var errRead = errors.New("device lost")

func (d *failing) Read(dst []float32, src metal.Vec) error {
	if d.left--; d.left <= 0 {
		return errRead
	}
	return d.Stream.Read(dst, src)
}

// TestDiskSaveFails fails each read of the device in turn: nothing of the snapshot stays, and saving again works.
func TestDiskSaveFails(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	f := m.filled(7)
	defer f.seq.Release()
	s := f.take(2900, 3, nil)
	defer s.Release()
	d := m.disk(t.TempDir(), 1<<30)
	defer closed(t, d)
	for n := 1; ; n++ {
		err := d.Save(context.Background(), &failing{m.st, n}, key("a", 2900), s)
		if err == nil {
			if n < 4 {
				t.Errorf("saved with %d reads only", n)
			}
			break
		}
		if !errors.Is(err, errRead) {
			t.Fatalf("got %v, want %v", err, errRead)
		}
		var left int
		if err := d.db.QueryRow(`select (select count(*) from parts) + (select count(*) from chunks) + (select count(*) from uses) + (select count(*) from snapshots)`).Scan(&left); err != nil || left != 0 {
			t.Fatalf("read %d: got %d rows left (%v)", n, left, err)
		}
		if st := d.Stats(); st.Bytes != 0 || st.Entries != 0 {
			t.Fatalf("read %d: got %+v, want nothing", n, st)
		}
	}
	back, err := m.load(d, key("a", 2900), nil)
	if err != nil || !maps.Equal(m.content(back), m.content(s)) {
		t.Fatalf("saved in the end: %v", err)
	}
	back.Release()
}

// TestDiskKeepsModelsApart opens one file for two packs: neither sees the other's, both count.
func TestDiskKeepsModelsApart(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	dir := t.TempDir()
	f := m.filled(8)
	defer f.seq.Release()
	s := f.take(40, 1, nil)
	defer s.Release()
	d := m.disk(dir, 1<<30)
	m.save(d, key("a", 40), s)
	closed(t, d)
	other, err := OpenDisk(dir, DiskOptions{Pack: "another", Device: m.dev.Info(), Shape: m.shape, Limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if got := other.Lookup(key("a", 41), drafting); got != 0 {
		t.Errorf("got %d tokens of another pack", got)
	}
	if st := other.Stats(); st.Entries != 1 || st.Bytes != s.Bytes()+160 {
		t.Errorf("got %+v, want the other pack's counted", st)
	}
	closed(t, other)
	if _, err := OpenDisk(dir, DiskOptions{}); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("without a limit: got %v", err)
	}
}

// TestDiskBesideItself saves, loads and looks up from many goroutines.
func TestDiskBesideItself(t *testing.T) {
	m := newMaker(t, false, 1<<30)
	f := m.filled(9)
	defer f.seq.Release()
	var snaps []*state.Snapshot
	var want []map[string][32]byte
	for n := 100; n <= 600; n += 100 {
		s := f.take(n, 1, nil)
		snaps, want = append(snaps, s), append(want, m.content(s))
		defer s.Release()
	}
	d := m.disk(t.TempDir(), 100<<10)
	defer closed(t, d)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			st := m.dev.NewStream()
			for i := range 12 {
				at := (g*5 + i) % len(snaps)
				k := key("a", snaps[at].Len)
				if err := d.Save(context.Background(), st, k, snaps[at]); err != nil {
					t.Error(err)
				}
				if n := d.Lookup(key("a", 1000), drafting); n%100 != 0 {
					t.Errorf("got %d tokens", n)
				}
				s, err := d.Load(context.Background(), st, m.dev, k, drafting, LoadOptions{})
				switch {
				case errors.Is(err, ErrNotStored): // evicted meanwhile
				case err != nil:
					t.Error(err)
				default:
					o := s.Outline()
					if o.Len != snaps[at].Len {
						t.Errorf("got %d positions, want %d", o.Len, snaps[at].Len)
					}
					s.Release()
				}
			}
		})
	}
	wg.Wait()
	if s := d.Stats(); s.Corrupt != 0 || s.Bytes > s.Limit {
		t.Errorf("got %+v", s)
	}
	for i, s := range snaps {
		if got, err := m.load(d, key("a", s.Len), nil); err == nil {
			if !maps.Equal(m.content(got), want[i]) {
				t.Errorf("%d positions: other content", s.Len)
			}
			got.Release()
		}
	}
}

package state

import (
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

const streamWidth = 20

// counted is an Account with a limit.
type counted struct {
	used, limit, takes int64
}

func (c *counted) Take(n int64) error {
	if c.takes++; c.limit > 0 && c.used+n > c.limit {
		return metal.ErrMemory
	}
	c.used += n
	return nil
}

func (c *counted) Give(n int64) { c.used -= n }

// filled returns a sequence of so many positions, of random values, that drafts, and the streams of its last rows; mtp rows
// are in its MTP caches.
func filled(t *testing.T, dev metal.Device, shelf *Shelf, seed uint64, n, mtp, kept int) (*Sequence, *Kept) {
	t.Helper()
	st := dev.NewStream()
	rng := rand.New(rand.NewPCG(1, seed))
	fill := func(b metal.Buffer) {
		f := make([]float32, b.Len())
		for i := range f {
			f[i] = rng.Float32()
		}
		st.Write(metal.NewVec(b), f)
	}
	s := newSequence(t, dev, Options{Positions: n})
	m, err := NewMTPCaches(dev, shape().Attention[0], 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reserve(st, 0, n); err != nil {
		t.Fatal(err)
	}
	s.MTP, s.Len, m.Len = m, n, mtp
	for _, v := range s.fixedVecs() {
		fill(v.Buf)
	}
	for i, a := range append(s.Attention[:len(s.Attention):len(s.Attention)], &m.Attention) {
		for _, b := range []metal.Buffer{a.K, a.V, a.Raw, a.Bank.Keys.Buf} {
			fill(b)
		}
		a.Bank.Blocks = max(0, a.Index.Complete(n)-i)
	}
	m.Bank.Blocks = m.Index.Complete(mtp)
	k, err := shelf.Take(n-kept, kept)
	if err != nil {
		t.Fatal(err)
	}
	f := make([]float32, kept*streamWidth)
	for i := range f {
		f[i] = rng.Float32()
	}
	st.Write(metal.Vec{Buf: k.X.Buf, N: len(f)}, f)
	return s, k
}

func digestOf(t *testing.T, s *Sequence, kept *Kept) map[string][32]byte {
	t.Helper()
	d, err := s.Digest(s.dev.NewStream())
	if err != nil {
		t.Fatal(err)
	}
	if kept != nil {
		x := digester{st: s.dev.NewStream(), out: d}
		x.vec("kept", metal.Vec{Buf: kept.X.Buf, N: kept.Rows * streamWidth})
		if x.err != nil {
			t.Fatal(x.err)
		}
	}
	return d
}

// TestSnapshotBytes compares what snapshots say they hold with the account and the device, along a path, past a branch, and
// as they are released in every order.
func TestSnapshotBytes(t *testing.T) {
	dev := device(t)
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	st := dev.NewStream()
	seq, kept := filled(t, dev, shelf, 1, 100, 99, 1)
	defer kept.Free()
	defer seq.Release()
	base := dev.Used()
	fixed := int64(4 * (shape().fixedFloats() + streamWidth))
	a := shape().Attention[0]
	rows := func(from, to int) int64 { return a.Bytes(to) - a.Bytes(from) }

	type plan struct{ parent, len int }
	for _, plans := range [][]plan{
		{{-1, 40}, {0, 70}, {1, 100}, {0, 100}},
		{{-1, 1}, {0, 2}, {1, 3}, {2, 4}},
		{{-1, 90}, {0, 90}, {1, 91}, {0, 100}},
	} {
		for order := range 24 {
			book := &counted{}
			var all []*Snapshot
			for _, p := range plans {
				full := seq.Len
				seq.Len, seq.MTP.Len, kept.Pos = p.len, p.len-1, p.len-1
				for _, a := range append(seq.Attention[:2:2], &seq.MTP.Attention) {
					a.Bank.Blocks = a.Index.Complete(p.len)
				}
				seq.MTP.Bank.Blocks = seq.MTP.Index.Complete(p.len - 1)
				o := TakeOptions{Kept: kept, Account: book}
				from := 0
				if p.parent >= 0 {
					o.Parent = all[p.parent]
					from = o.Parent.Len
				}
				want := fixed + 2*rows(from, p.len) + rows(max(0, from-1), p.len-1)
				if got := Cost(seq, o); got != want {
					t.Fatalf("cost of %+v: got %d, want %d", p, got, want)
				}
				s, err := Take(st, seq, o)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.Bytes(); got != want {
					t.Fatalf("bytes of %+v: got %d, want %d", p, got, want)
				}
				held := fixed + 2*rows(0, p.len) + rows(0, p.len-1)
				if got := s.Held(); got != held {
					t.Fatalf("held by %+v: got %d, want %d", p, got, held)
				}
				all = append(all, s)
				seq.Len = full
				if book.used != dev.Used()-base {
					t.Fatalf("account: got %d, want %d", book.used, dev.Used()-base)
				}
			}
			rng := rand.New(rand.NewPCG(uint64(order), 2))
			perm := rng.Perm(len(all))
			for i, at := range perm {
				all[at].Release()
				if book.used != dev.Used()-base {
					t.Fatalf("account after a release: got %d, want %d", book.used, dev.Used()-base)
				}
				if i+1 < len(perm) {
					if last := all[perm[len(perm)-1]]; book.used < last.Held() {
						t.Fatalf("got %d bytes left, want the %d that one still holds", book.used, last.Held())
					}
				}
			}
			if book.used != 0 {
				t.Fatalf("all released: got %d bytes on the books, want 0", book.used)
			}
		}
	}
}

// TestSnapshotMemoryRunsOut fails every allocation of taking and of restoring in turn, by the device and by the account:
// nothing stays allocated, the sequence is as it was, and the parent still holds what it held.
func TestSnapshotMemoryRunsOut(t *testing.T) {
	lack := &short{device(t), 1 << 30}
	shelf := NewShelf(lack, streamWidth)
	defer shelf.Close()
	st := lack.NewStream()
	seq, kept := filled(t, lack, shelf, 2, 77, 70, 7)
	defer seq.Release()
	defer kept.Free()
	want := digestOf(t, seq, nil)
	book := &counted{}
	seq.Len = 60
	short, err := shelf.Take(59, 1)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := Take(st, seq, TakeOptions{Kept: short, Account: book})
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Release()
	short.Free()
	seq.Len = 77

	o := TakeOptions{Parent: parent, Kept: kept, Account: book}
	used, booked := lack.Used(), book.used
	var snap *Snapshot
	for _, byAccount := range []bool{false, true} {
		fails := 0
		for n := 0; ; n++ {
			if byAccount {
				book.limit = booked + int64(n)*Cost(seq, o)/40
			} else {
				lack.left = n
			}
			s, err := Take(st, seq, o)
			lack.left, book.limit = 1<<30, 0
			if err == nil {
				if snap != nil {
					snap.Release()
				}
				snap = s
				break
			}
			fails++
			if !errors.Is(err, metal.ErrMemory) {
				t.Fatalf("take %d: got %v, want %v", n, err, metal.ErrMemory)
			}
			if lack.Used() != used || book.used != booked {
				t.Fatalf("take %d: got %d bytes in use and %d booked, want %d and %d", n, lack.Used(), book.used, used, booked)
			}
			if !maps.Equal(digestOf(t, seq, nil), want) {
				t.Fatalf("take %d: the sequence changed", n)
			}
		}
		if fails < 3 {
			t.Errorf("by account %v: got %d failures, want one for the states, the rows and the head's rows at least", byAccount, fails)
		}
		snap.Release()
		snap = nil
	}
	if snap, err = Take(st, seq, o); err != nil {
		t.Fatal(err)
	}
	defer snap.Release()

	used = lack.Used()
	for n := 0; ; n++ {
		lack.left = n
		s, k, err := Restore(st, shape(), lack, snap, RestoreOptions{Drafts: true, Shelf: shelf})
		lack.left = 1 << 30
		if err == nil {
			if n < 10 {
				t.Errorf("restored with %d allocations only", n)
			}
			got, want := digestOf(t, s, k), digestOf(t, seq, kept)
			if !maps.Equal(got, want) {
				t.Error("restored state differs")
			}
			s.Release()
			k.Free()
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("restore, allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		if got := lack.Used(); got != used {
			t.Fatalf("restore, allocation %d: got %d bytes in use, want %d", n, got, used)
		}
	}
}

// broken is a device whose streams fail to wait.
type broken struct{ metal.Device }

var errLost = errors.New("device lost")

func (b *broken) NewStream() metal.Stream { return brokenStream{b.Device.NewStream()} }

type brokenStream struct{ metal.Stream }

func (brokenStream) Sync() error { return errLost }

// TestSnapshotDeviceFails loses the device while copies run.
func TestSnapshotDeviceFails(t *testing.T) {
	dev := device(t)
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	st, bad := dev.NewStream(), (&broken{dev}).NewStream()
	seq, kept := filled(t, dev, shelf, 3, 50, 49, 1)
	defer seq.Release()
	defer kept.Free()
	used := dev.Used()
	if _, err := Take(bad, seq, TakeOptions{Kept: kept}); !errors.Is(err, errLost) {
		t.Errorf("take: got %v, want %v", err, errLost)
	}
	p, err := Begin(st, seq, TakeOptions{Kept: kept})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Finish(bad, seq.MTP); !errors.Is(err, errLost) {
		t.Errorf("finish: got %v, want %v", err, errLost)
	}
	if got := dev.Used(); got != used {
		t.Errorf("after the failures: got %d bytes in use, want %d", got, used)
	}
	snap, err := Take(st, seq, TakeOptions{Kept: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	used = dev.Used()
	if _, _, err := Restore(bad, shape(), dev, snap, RestoreOptions{Drafts: true, Shelf: shelf}); !errors.Is(err, errLost) {
		t.Errorf("restore: got %v, want %v", err, errLost)
	}
	if got := dev.Used(); got != used {
		t.Errorf("restore: got %d bytes in use, want %d", got, used)
	}
}

// classes is a device with separate prefill kernels, as far as its word goes.
type classes struct {
	metal.Device
	kind string
}

func (c *classes) Info() metal.Info {
	i := c.Device.Info()
	i.PromptRows = true
	if c.kind != "" {
		i.Kind = c.kind
	}
	return i
}

// TestSnapshotRefusals asks for what does not fit.
func TestSnapshotRefusals(t *testing.T) {
	dev := &classes{Device: device(t)}
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	st := dev.NewStream()
	seq, kept := filled(t, dev, shelf, 4, 50, 45, 5)
	defer seq.Release()
	defer kept.Free()
	snap, err := Take(st, seq, TakeOptions{Kept: kept, Prompt: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	plain, err := Take(st, seq, TakeOptions{Prompt: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Release()
	if plain.Drafts() || !snap.Drafts() || snap.Drafted != 45 || snap.Prompt != 30 {
		t.Errorf("got %+v and %+v, want only the first to draft", snap, plain)
	}
	used := dev.Used()

	refused := func(name string, want error, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if got := dev.Used(); got != used {
			t.Errorf("%s: got %d bytes in use, want %d", name, got, used)
		}
	}
	take := func(edit func(s *Sequence, o *TakeOptions)) error {
		o := TakeOptions{Kept: kept, Prompt: 30}
		saved, mtp := seq.Len, seq.MTP.Len
		edit(seq, &o)
		_, err := Take(st, seq, o)
		seq.Len, seq.MTP.Len, seq.broken = saved, mtp, false
		return err
	}
	refused("empty", ErrSnapshot, take(func(s *Sequence, o *TakeOptions) { s.Len = 0; o.Kept = nil }))
	refused("broken", ErrBroken, take(func(s *Sequence, o *TakeOptions) { s.Begin() }))
	refused("parent of another class", ErrSnapshot, take(func(s *Sequence, o *TakeOptions) { o.Parent, o.Prompt = snap, 31 }))
	refused("parent longer", ErrSnapshot, take(func(s *Sequence, o *TakeOptions) { o.Parent, s.Len, o.Kept = snap, 49, nil }))
	refused("streams of other rows", ErrSnapshot, take(func(s *Sequence, o *TakeOptions) { s.Len = 49 }))
	refused("too few streams", ErrSnapshot, take(func(s *Sequence, o *TakeOptions) { s.MTP.Len = 44 }))

	restore := func(d metal.Device, s *Shape, snap *Snapshot, o RestoreOptions) error {
		_, _, err := Restore(st, s, d, snap, o)
		return err
	}
	drafts := RestoreOptions{Drafts: true, Shelf: shelf}
	other := shape()
	other.Planes[0].Cols++
	refused("another shape", ErrSnapshot, restore(dev, other, snap, drafts))
	refused("another kind", ErrSnapshot, restore(&classes{dev.Device, "gpu/f16"}, shape(), snap, drafts))
	refused("another device", ErrSnapshot, restore(&classes{Device: dev.Device}, shape(), snap, drafts))
	refused("cannot draft", ErrSnapshot, restore(dev, shape(), plain, drafts))
	refused("no shelf", ErrSnapshot, restore(dev, shape(), snap, RestoreOptions{Drafts: true}))

	p, err := Begin(st, seq, TakeOptions{Kept: kept, Prompt: 30})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Finish(st, seq.MTP)
	refused("drafter behind", ErrSnapshot, err)

	p, err = Begin(st, seq, TakeOptions{Kept: kept, Prompt: 30, Parent: snap})
	if err != nil {
		t.Fatal(err)
	}
	p.Discard()
	p.Discard()
	refused("discarded", nil, nil)

	// A sequence that does not draft can come from either.
	for _, s := range []*Snapshot{snap, plain} {
		seq, kept, err := Restore(st, shape(), dev, s, RestoreOptions{})
		if err != nil || kept != nil || seq.MTP != nil {
			t.Fatalf("without drafts: got %v, kept %v, MTP caches %v", err, kept, seq.MTP)
		}
		seq.Release()
	}
}

// TestSnapshotWithoutDraftsAsParent lets a drafting sequence stand on a snapshot that cannot draft, and the other way round.
func TestSnapshotWithoutDraftsAsParent(t *testing.T) {
	dev := device(t)
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	st := dev.NewStream()
	seq, kept := filled(t, dev, shelf, 5, 90, 90, 3)
	defer seq.Release()
	defer kept.Free()
	plain, err := Take(st, seq, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	drafts, err := Take(st, seq, TakeOptions{Parent: plain, Kept: kept})
	if err != nil {
		t.Fatal(err)
	}
	plain.Release()
	if plain, err = Take(st, seq, TakeOptions{Parent: drafts}); err != nil {
		t.Fatal(err)
	}
	if got, want := plain.Bytes(), int64(4*shape().fixedFloats()); got != want {
		t.Errorf("a snapshot at its parent's place: got %d bytes, want only the states' %d", got, want)
	}
	plain.Release()
	s, k, err := Restore(st, shape(), dev, drafts, RestoreOptions{Drafts: true, Shelf: shelf, Positions: 200})
	if err != nil {
		t.Fatal(err)
	}
	if s.Positions() < 200 || k.Pos != 89 || k.Rows != 1 || s.MTP.Len != 89 {
		t.Errorf("got room for %d positions, kept row %d of %d, %d rows drafted", s.Positions(), k.Pos, k.Rows, s.MTP.Len)
	}
	seq.MTP.Truncate(89)
	seq.MTP.Bank.Blocks, s.MTP.Bank.Blocks = 29, 29
	if !maps.Equal(digestOf(t, s, nil), digestOf(t, seq, nil)) {
		t.Error("restored state differs")
	}
	s.Release()
	k.Free()
	drafts.Release()
}

// TestSnapshotOnABankThatIsFurther stands on a parent whose bank was settled further than the sequence's own is.
func TestSnapshotOnABankThatIsFurther(t *testing.T) {
	dev := device(t)
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	st := dev.NewStream()
	seq, kept := filled(t, dev, shelf, 8, 90, 90, 1)
	defer seq.Release()
	defer kept.Free()
	parent, err := Take(st, seq, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settled := digestOf(t, seq, nil)
	blocks := seq.Attention[0].Bank.Blocks
	seq.Attention[0].Bank.Blocks -= 7
	child, err := Take(st, seq, TakeOptions{Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	parent.Release()
	defer child.Release()
	got, _, err := Restore(st, shape(), dev, child, RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if n := got.Attention[0].Bank.Blocks; n != blocks {
		t.Errorf("got %d blocks, want the parent's %d", n, blocks)
	}
	for part, sum := range digestOf(t, got, nil) {
		if settled[part] != sum {
			t.Errorf("%s differs from the settled sequence's", part)
		}
	}
}

// TestSnapshotsAreShared restores, retains and releases from many goroutines.
func TestSnapshotsAreShared(t *testing.T) {
	dev := device(t)
	shelf := NewShelf(dev, streamWidth)
	defer shelf.Close()
	seq, kept := filled(t, dev, shelf, 6, 64, 64, 1)
	defer kept.Free()
	snap, err := Take(dev.NewStream(), seq, TakeOptions{Kept: kept})
	if err != nil {
		t.Fatal(err)
	}
	seq.MTP.Truncate(63)
	want := digestOf(t, seq, nil)
	seq.Release()
	var wg sync.WaitGroup
	for range 8 {
		snap.Retain()
		wg.Go(func() {
			defer snap.Release()
			s, k, err := Restore(dev.NewStream(), shape(), dev, snap, RestoreOptions{Drafts: true, Shelf: shelf})
			if err != nil {
				t.Error(err)
				return
			}
			got, err := s.Digest(dev.NewStream())
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("restored state differs (%v)", err)
			}
			s.Release()
			k.Free()
		})
	}
	snap.Release()
	wg.Wait()
}

func TestClassKey(t *testing.T) {
	for _, c := range []struct {
		separate       bool
		prompt, length int
		want           int
	}{
		{false, 10, 20, 0}, {false, 20, 10, 0},
		{true, 10, 20, 10}, {true, 20, 10, 10}, {true, 10, 10, 10}, {true, 0, 10, 0}, {true, -1, 10, 0},
	} {
		if got := ClassKey(c.separate, c.prompt, c.length); got != c.want {
			t.Errorf("separate %v, %d of %d: got %d, want %d", c.separate, c.prompt, c.length, got, c.want)
		}
	}
}

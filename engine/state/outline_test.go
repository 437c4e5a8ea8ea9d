package state

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/metal/cpu"
)

// stored is a snapshot as a store has it.
type stored struct {
	outline Outline
	parts   [][]float32
}

func store(t *testing.T, st metal.Stream, s *Snapshot) stored {
	t.Helper()
	out := stored{outline: s.Outline()}
	for i, n := range s.Floats() {
		f := make([]float32, n)
		if n > 0 {
			if err := s.ReadPart(st, i, 0, f); err != nil {
				t.Fatal(err)
			}
		}
		out.parts = append(out.parts, f)
	}
	return out
}

var errStore = errors.New("store failed")

// reader returns Read over a stored snapshot that fails at the n-th call, or never if n is 0, and a counter of values read.
func (s *stored) reader(n int) (func(int, int, []float32) error, *int) {
	calls, values := 0, 0
	return func(part, off int, dst []float32) error {
		if calls++; calls == n {
			return errStore
		}
		values += copy(dst, s.parts[part][off:off+len(dst)])
		return nil
	}, &values
}

// TestRebuild takes snapshots apart and makes them again, alone and on parents, and fails every allocation and every read.
func TestRebuild(t *testing.T) {
	lack := &short{device(t), 1 << 30}
	shelf := NewShelf(lack, streamWidth)
	defer shelf.Close()
	st := lack.NewStream()
	seq, kept := filled(t, lack, shelf, 21, 90, 85, 5)
	defer seq.Release()
	defer kept.Free()
	book := &counted{}
	take := func(n int, parent *Snapshot) *Snapshot {
		seq.Len, seq.MTP.Len = n, n-kept.Rows
		kept.Pos = n - kept.Rows
		for _, a := range append(seq.Attention[:2:2], &seq.MTP.Attention) {
			a.Bank.Blocks = a.Index.Complete(n)
		}
		seq.MTP.Bank.Blocks = seq.MTP.Index.Complete(n - kept.Rows)
		s, err := Take(st, seq, TakeOptions{Kept: kept, Parent: parent, Prompt: n, Account: book})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := take(40, nil)
	second := take(90, first)
	defer first.Release()
	defer second.Release()
	want := restored(t, lack, shelf, second)
	whole := store(t, st, second)
	if got := int64(0); true {
		for _, p := range whole.parts {
			got += 4 * int64(len(p))
		}
		if got != second.Held() {
			t.Errorf("got parts of %d bytes, want the %d held", got, second.Held())
		}
	}

	for _, parent := range []*Snapshot{nil, first, second} {
		used, booked := lack.Used(), book.used
		read, values := whole.reader(0)
		s, err := Rebuild(st, shape(), lack, whole.outline, RebuildOptions{Parent: parent, Account: book, Read: read, Chunk: 100})
		if err != nil {
			t.Fatal(err)
		}
		if got := restored(t, lack, shelf, s); !maps.Equal(got, want) {
			t.Error("rebuilt content differs")
		}
		if got := lack.Used() - used; got != s.Bytes() || book.used-booked != s.Bytes() || int64(4**values) != s.Bytes() {
			t.Errorf("got %d bytes in use, %d booked and %d read, want %d", got, book.used-booked, 4**values, s.Bytes())
		}
		switch {
		case parent == nil && s.Bytes() != second.Held(), parent == first && s.Bytes() != second.Bytes(),
			parent == second && s.Bytes() != second.fixed.bytes():
			t.Errorf("got %d bytes of its own", s.Bytes())
		}
		s.Release()

		for n := 0; ; n++ {
			read, _ := whole.reader(0)
			lack.left = n
			s, err := Rebuild(st, shape(), lack, whole.outline, RebuildOptions{Parent: parent, Account: book, Read: read, Chunk: 100})
			lack.left = 1 << 30
			if err == nil {
				s.Release()
				break
			}
			if !errors.Is(err, metal.ErrMemory) || lack.Used() != used || book.used != booked {
				t.Fatalf("allocation %d: got %v, %d bytes in use and %d booked, want %d and %d", n, err, lack.Used(), book.used, used, booked)
			}
		}
		for n := 1; ; n++ {
			read, _ := whole.reader(n)
			s, err := Rebuild(st, shape(), lack, whole.outline, RebuildOptions{Parent: parent, Account: book, Read: read, Chunk: 100})
			if err == nil {
				s.Release()
				break
			}
			if !errors.Is(err, errStore) || lack.Used() != used || book.used != booked {
				t.Fatalf("read %d: got %v, %d bytes in use and %d booked, want %d and %d", n, err, lack.Used(), book.used, used, booked)
			}
		}
	}
}

func restored(t *testing.T, dev metal.Device, shelf *Shelf, s *Snapshot) map[string][32]byte {
	t.Helper()
	seq, kept, err := Restore(dev.NewStream(), shape(), dev, s, RestoreOptions{Drafts: true, Shelf: shelf})
	if err != nil {
		t.Fatal(err)
	}
	defer seq.Release()
	defer kept.Free()
	return digestOf(t, seq, kept)
}

func validOutline() Outline {
	return Outline{Len: 30, Prompt: 20, Drafted: 28, Width: streamWidth, Head: &shape().Attention[0],
		Rows:      []Run{{0, 10, []int{3, 3}}, {10, 30, []int{10, 9}}},
		DraftRows: []Run{{0, 28, []int{9}}}}
}

// TestOutlineRefusals asks for outlines that fit no sequence; nothing is allocated for them.
func TestOutlineRefusals(t *testing.T) {
	dev := device(t)
	st := dev.NewStream()
	zeros := func(int, int, []float32) error { return nil }
	for name, edit := range map[string]func(o *Outline){
		"empty":               func(o *Outline) { o.Len = 0 },
		"too long":            func(o *Outline) { o.Len = 1001 },
		"prompt":              func(o *Outline) { o.Prompt = 31 },
		"gap":                 func(o *Outline) { o.Rows[1].From = 11 },
		"backwards":           func(o *Outline) { o.Rows[0].To = -1 },
		"past the end":        func(o *Outline) { o.Rows[1].To = 31 },
		"short of the end":    func(o *Outline) { o.Rows[1].To = 29 },
		"layers":              func(o *Outline) { o.Rows[0].Blocks = []int{3} },
		"blocks":              func(o *Outline) { o.Rows[0].Blocks[1] = 4 },
		"fewer blocks":        func(o *Outline) { o.Rows[1].Blocks[0] = 2 },
		"no rows":             func(o *Outline) { o.Rows = nil },
		"no head":             func(o *Outline) { o.Head = nil },
		"head":                func(o *Outline) { o.Head = &AttentionShape{Width: 8} },
		"huge head":           func(o *Outline) { h := *o.Head; h.Width = 1 << 40; o.Head = &h },
		"width":               func(o *Outline) { o.Width = 0 },
		"all rows drafted":    func(o *Outline) { o.Drafted, o.DraftRows[0].To = 30, 30 },
		"draft rows":          func(o *Outline) { o.DraftRows[0].To = 27 },
		"drafted but no rows": func(o *Outline) { o.DraftRows = nil },
	} {
		o := validOutline()
		edit(&o)
		if _, err := Rebuild(st, shape(), dev, o, RebuildOptions{Read: zeros}); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: got %v, want %v", name, err, ErrSnapshot)
		}
		if got := dev.Used(); got != 0 {
			t.Errorf("%s: got %d bytes in use, want 0", name, got)
		}
	}
	s, err := Rebuild(st, shape(), dev, validOutline(), RebuildOptions{Read: zeros})
	if err != nil {
		t.Fatal(err)
	}
	s.Release()
}

// FuzzOutline rebuilds and restores whatever passes the checks.
func FuzzOutline(f *testing.F) {
	b, err := json.Marshal(validOutline())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"Len":1,"Rows":[{"To":1,"Blocks":[0,0]}]}`))
	dev, err := cpu.New(cpu.Options{Threads: 1, Memory: 8 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dev.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Outline
		if json.Unmarshal(b, &o) != nil {
			return
		}
		st := dev.NewStream()
		s, err := Rebuild(st, shape(), dev, o, RebuildOptions{Read: func(int, int, []float32) error { return nil }})
		if err == nil {
			shelf := NewShelf(dev, max(1, o.Width))
			seq, kept, err := Restore(st, shape(), dev, s, RestoreOptions{Drafts: s.Drafts(), Shelf: shelf})
			if err == nil {
				if seq.Len != o.Len {
					t.Errorf("got %d positions, want %d", seq.Len, o.Len)
				}
				seq.Release()
				kept.Free()
			} else if !errors.Is(err, metal.ErrMemory) {
				t.Error(err)
			}
			shelf.Close()
			s.Release()
		}
		if got := dev.Used(); got != 0 {
			t.Errorf("got %d bytes in use, want 0", got)
		}
	})
}

package prefix

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// TestLookup finds the longest prefix that is not all of the ids, whatever parts and joins the edges have.
func TestLookup(t *testing.T) {
	m := newMaker(t, false, 1<<20)
	for _, s := range []string{"system", "system: hello", "system: help", "system: hello, you", "other", "s"} {
		m.put(ids(s), nil).Release()
	}
	for _, c := range []struct {
		ask  string
		want int
	}{
		{"", 0}, {"s", 0}, {"sy", 1}, {"system", 1}, {"system:", 6}, {"system: hel", 6}, {"system: hello", 6},
		{"system: hello!", 13}, {"system: help", 6}, {"system: helping", 12}, {"system: hello, you there", 18},
		{"system: hello, we", 13}, {"others", 5}, {"none", 0},
	} {
		h, n := m.tree.Lookup(ids(c.ask), Want{Prompt: len(c.ask)})
		if n != c.want || (h != nil) != (n > 0) || h != nil && h.Snapshot().Len != n {
			t.Errorf("%q: got %d tokens, want %d", c.ask, n, c.want)
		}
		h.Release()
	}
	s := m.tree.Stats()
	if s.Hits != 11 || s.Misses != 3 || s.Reused != 1+1+6+6+6+13+6+12+18+13+5 || s.Entries != 6 || s.Tokens != 18+1+5 {
		t.Errorf("got %+v, want 11 hits, 3 misses, 87 tokens reused, 6 entries, 24 tokens in keys", s)
	}
	if h := m.tree.At(ids("system: hell"), Want{}); h != nil {
		t.Error("found a snapshot in the middle of an edge")
	}
	h := m.tree.At(ids("system: help"), Want{Prompt: 12})
	if h == nil || h.Snapshot().Len != 12 {
		t.Error("did not find the exact snapshot")
	}
	h.Release()
	h.Release() // may be called again
}

// TestSharedRows keeps one copy of the rows of a path and frees rows with the last snapshot that stands on them.
func TestSharedRows(t *testing.T) {
	m := newMaker(t, false, 1<<20)
	root := m.put(ids(strings.Repeat("a", 100)), nil)
	one := m.put(ids(strings.Repeat("a", 100)+strings.Repeat("b", 20)), root.Snapshot())
	two := m.put(ids(strings.Repeat("a", 100)+strings.Repeat("c", 40)), root.Snapshot())
	rows := func(from, to int) int64 { return int64((to-from)*fakeRow + (to/4-from/4)*16) }
	want := 3*int64(fakeStates) + rows(0, 100) + rows(100, 120) + rows(100, 140) + 4*160
	if got := m.tree.Stats().Bytes; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
	for _, h := range []*Handle{root, one, two} {
		h.Release()
	}
	// The oldest gives its states up and hands its rows over.
	if got := m.tree.Evict(1); got != fakeStates {
		t.Errorf("evicting the parent freed %d bytes, want its states' %d", got, fakeStates)
	}
	if h, n := m.tree.Lookup(ids(strings.Repeat("a", 101)), Want{}); n != 0 {
		t.Errorf("the evicted prefix still gives %d tokens", n)
		h.Release()
	}
	h, n := m.tree.Lookup(ids(strings.Repeat("a", 100)+strings.Repeat("c", 41)), Want{})
	if n != 140 {
		t.Fatalf("got %d tokens, want 140", n)
	}
	seq, _, err := state.Restore(m.st, m.shape, m.dev, h.Snapshot(), state.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seq.Release()
	if got, want := m.tree.Evict(1<<40), fakeStates+rows(100, 120)+4*20; got != want {
		t.Errorf("evicting all but the one in use freed %d bytes, want %d", got, want)
	}
	h.Release()
	if got, want := m.tree.Evict(1), fakeStates+rows(0, 100)+rows(100, 140)+4*140; got != want {
		t.Errorf("evicting the last freed %d bytes, want %d", got, want)
	}
}

// TestLimit never passes the limit, evicts the least recently used first and nothing that is in use, and refuses what cannot
// fit with the numbers.
func TestLimit(t *testing.T) {
	one := int64(fakeStates + 8*fakeRow + 2*16 + 4*8)
	m := newMaker(t, false, 3*one)
	a, b, c := m.put(ids("aaaaaaaa"), nil), m.put(ids("bbbbbbbb"), nil), m.put(ids("cccccccc"), nil)
	if got := m.tree.Stats().Bytes; got != 3*one {
		t.Fatalf("got %d bytes, want %d", got, 3*one)
	}
	if _, err := m.take(8, 8, false, nil); !errors.Is(err, metal.ErrMemory) || !strings.Contains(err.Error(), "at most") {
		t.Errorf("all in use: got %v, want %v with the numbers", err, metal.ErrMemory)
	}
	b.Release()
	a.Release()
	if h, n := m.tree.Lookup(ids("bbbbbbbbb"), Want{}); n != 8 {
		t.Fatal("b is gone")
	} else {
		h.Release()
	}
	m.put(ids("dddddddd"), nil).Release() // a goes: b was looked up later, c is in use
	for ask, want := range map[string]int{"aaaaaaaaa": 0, "bbbbbbbbb": 8, "ccccccccc": 8, "ddddddddd": 8} {
		h, n := m.tree.Lookup(ids(ask), Want{})
		if n != want {
			t.Errorf("%s: got %d tokens, want %d", ask, n, want)
		}
		h.Release()
	}
	if _, err := m.take(300, 300, false, nil); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("larger than the limit: got %v, want %v", err, metal.ErrMemory)
	}
	if s := m.tree.Stats(); s.Entries != 3 || s.InUse != 1 || s.Evictions != 1 || s.Refused != 2 {
		t.Errorf("got %+v, want 3 entries, 1 in use, 1 eviction, 2 refusals: what is too large evicts nothing", s)
	}
	m.tree.SetLimit(one)
	if s := m.tree.Stats(); s.Entries != 1 || s.Bytes != one {
		t.Errorf("after the limit fell: got %+v, want the one in use", s)
	}
	c.Release()
}

// TestOuterAccount lets another account refuse, and evict to make room.
func TestOuterAccount(t *testing.T) {
	one := int64(fakeStates + 8*fakeRow + 2*16 + 4*8)
	outer := &outerAccount{limit: 2 * one}
	m := newMaker(t, false, 1<<30)
	m.tree.outer = outer
	a, b := m.put(ids("aaaaaaaa"), nil), m.put(ids("bbbbbbbb"), nil)
	if _, err := m.take(8, 8, false, nil); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("got %v, want %v", err, metal.ErrMemory)
	}
	a.Release()
	m.put(ids("cccccccc"), nil).Release()
	b.Release()
	if s := m.tree.Stats(); outer.used != s.Bytes || s.Bytes != 2*one {
		t.Errorf("got %d bytes outside and %d inside, want %d", outer.used, s.Bytes, 2*one)
	}
	m.tree.Close()
	if outer.used != 0 {
		t.Errorf("closed: got %d bytes outside, want 0", outer.used)
	}
}

type outerAccount struct{ used, limit int64 }

func (o *outerAccount) Take(n int64) error {
	if o.used+n > o.limit {
		return metal.ErrMemory
	}
	o.used += n
	return nil
}

func (o *outerAccount) Give(n int64) { o.used -= n }

// TestInsertTwice keeps the first of two equals, and prefers one that can draft.
func TestInsertTwice(t *testing.T) {
	m := newMaker(t, false, 1<<20)
	first := m.put(ids("hello"), nil)
	second := m.put(ids("hello"), nil)
	if first.Snapshot() != second.Snapshot() {
		t.Error("two snapshots of the same tokens")
	}
	if h, n := m.tree.Lookup(ids("hello!"), Want{Drafts: true}); n != 0 {
		t.Error("a snapshot that cannot draft serves a request that will")
		h.Release()
	}
	s, err := m.take(5, 5, true, first.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	third, err := m.tree.Insert(ids("hello"), s)
	if err != nil {
		t.Fatal(err)
	}
	if third.Snapshot() != s || first.Snapshot() == s {
		t.Error("the snapshot that can draft did not take the place of the other")
	}
	for _, drafts := range []bool{true, false} {
		h, n := m.tree.Lookup(ids("hello!"), Want{Drafts: drafts})
		if n != 5 || h.Snapshot() != s {
			t.Errorf("drafts %v: got %d tokens, want the new snapshot", drafts, n)
		}
		h.Release()
	}
	fourth := m.put(ids("hello"), nil)
	if fourth.Snapshot() != s {
		t.Error("a snapshot that cannot draft took the place of one that can")
	}
	if st := m.tree.Stats(); st.Inserts != 1 || st.Duplicates != 2 || st.Upgrades != 1 || st.Entries != 1 || st.InUse != 1 {
		t.Errorf("got %+v", st)
	}
	for _, h := range []*Handle{first, second, third, fourth} {
		h.Release()
	}
}

// TestClasses keeps snapshots of the same tokens apart where they were computed in other classes, on a device that has two.
func TestClasses(t *testing.T) {
	for _, separate := range []bool{false, true} {
		m := newMaker(t, separate, 1<<20)
		// A turn of 6 tokens of prompt and 4 of answer.
		s, err := m.take(10, 6, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := m.tree.Insert(ids("promptansw"), s)
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
		p, err := m.take(6, 6, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h, err = m.tree.Insert(ids("prompt"), p); err != nil {
			t.Fatal(err)
		}
		h.Release()
		ask := func(prompt int) int {
			h, n := m.tree.Lookup(ids("promptanswer"), Want{Prompt: prompt})
			h.Release()
			return n
		}
		// The next turn's prompt holds the answer; a rebuild's does not.
		if got, want := ask(12), map[bool]int{false: 10, true: 6}[separate]; got != want {
			t.Errorf("separate %v, next turn: got %d tokens, want %d", separate, got, want)
		}
		if got := ask(6); got != 10 {
			t.Errorf("separate %v, rebuild: got %d tokens, want 10", separate, got)
		}
		if got, want := ask(5), map[bool]int{false: 10, true: 0}[separate]; got != want {
			t.Errorf("separate %v, shorter prompt: got %d tokens, want %d", separate, got, want)
		}
		all, err := m.take(10, 10, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h, err = m.tree.Insert(ids("promptansw"), all); err != nil {
			t.Fatal(err)
		}
		h.Release()
		if got, want := m.tree.Stats().Entries, map[bool]int{false: 2, true: 3}[separate]; got != want {
			t.Errorf("separate %v: got %d entries, want %d", separate, got, want)
		}
		if got := ask(12); got != 10 {
			t.Errorf("separate %v, all prompt: got %d tokens, want 10", separate, got)
		}
	}
}

// TestInsertRefuses gives snapshots that are of other ids, or come too late.
func TestInsertRefuses(t *testing.T) {
	m := newMaker(t, false, 1<<20)
	s, err := m.take(4, 4, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.tree.Insert(ids("five!"), s); !errors.Is(err, state.ErrSnapshot) {
		t.Errorf("other length: got %v, want %v", err, state.ErrSnapshot)
	}
	if s, err = m.take(4, 4, false, nil); err != nil {
		t.Fatal(err)
	}
	other := New(Options{Device: metal.Info{Kind: "gpu/f16"}, Limit: 1 << 20})
	if _, err := other.Insert(ids("four"), s); !errors.Is(err, state.ErrSnapshot) {
		t.Errorf("other device kind: got %v, want %v", err, state.ErrSnapshot)
	}
	if s, err = m.take(4, 4, false, nil); err != nil {
		t.Fatal(err)
	}
	m.tree.SetLimit(m.tree.Stats().Bytes) // no room for the key
	if _, err := m.tree.Insert(ids("four"), s); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("no room for the key: got %v, want %v", err, metal.ErrMemory)
	}
	if st := m.tree.Stats(); st.Bytes != 0 || st.Entries != 0 {
		t.Errorf("after the refusals: got %+v, want an empty tree", st)
	}
	m.tree.SetLimit(1 << 20)
	h := m.put(ids("held"), nil)
	if s, err = m.take(4, 4, false, nil); err != nil {
		t.Fatal(err)
	}
	m.tree.Close()
	if _, err := m.tree.Insert(ids("late"), s); !errors.Is(err, metal.ErrMemory) {
		t.Errorf("closed: got %v, want %v", err, metal.ErrMemory)
	}
	if h.Snapshot().Held() == 0 {
		t.Error("a snapshot in use was freed by Close")
	}
	h.Release()
}

// TestManyUsers looks up, restores, inserts and evicts from many goroutines; what a handle is on stays whole.
func TestManyUsers(t *testing.T) {
	m := newMaker(t, false, 20*(fakeStates+60*fakeRow))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			st := m.dev.NewStream()
			for i := range 150 {
				n := 8 + (g*31+i*17)%60
				key := ids(strings.Repeat(string(rune('a'+i%3)), n))
				h, found := m.tree.Lookup(key, Want{Prompt: n})
				if found >= n || h.Snapshot() != nil && h.Snapshot().Len != found {
					t.Errorf("got %d of %d tokens", found, n)
				}
				seq, err := state.New(m.shape, m.dev, state.Options{Positions: n})
				if err != nil {
					t.Error(err)
					return
				}
				if h != nil {
					seq.Release()
					if seq, _, err = state.Restore(st, m.shape, m.dev, h.Snapshot(), state.RestoreOptions{Positions: n}); err != nil {
						t.Error(err)
						return
					}
				}
				seq.Len = n
				s, err := state.Take(st, seq, state.TakeOptions{Parent: h.Snapshot(), Prompt: n, Account: m.tree})
				if err == nil {
					var mine *Handle
					if mine, err = m.tree.Insert(key, s); err == nil {
						mine.Release()
					}
				}
				if err != nil && !errors.Is(err, metal.ErrMemory) {
					t.Error(err)
				}
				if st := m.tree.Stats(); st.Bytes > st.Limit {
					t.Errorf("got %d bytes, want at most %d", st.Bytes, st.Limit)
				}
				if i%40 == 0 {
					m.tree.Evict(1000)
				}
				h.Release()
				seq.Release()
			}
		})
	}
	wg.Wait()
}

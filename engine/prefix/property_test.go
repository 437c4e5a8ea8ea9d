package prefix

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/engine/state"
)

// naive is what a tree must agree with: all snapshots by their tokens and class, in a map.
type naive map[string]bool // can draft

func naiveKey(ids []int32, class int) string { return fmt.Sprint(ids, class) }

func (m naive) lookup(t *Tree, ids []int32, w Want) int {
	for n := len(ids) - 1; n > 0; n-- {
		drafts, ok := m[naiveKey(ids[:n], state.ClassKey(t.separate, w.Prompt, n))]
		if ok && (drafts || !w.Drafts) {
			return n
		}
	}
	return 0
}

// conversation draws ids that begin like an earlier conversation's, edited somewhere, cut, or gone on with.
func conversation(t *rapid.T, earlier [][]int32) []int32 {
	token := rapid.Int32Range(0, 3)
	var out []int32
	if len(earlier) > 0 && rapid.IntRange(0, 9).Draw(t, "fresh") > 0 {
		out = slices.Clone(rapid.SampledFrom(earlier).Draw(t, "earlier"))
		at := rapid.IntRange(0, len(out)).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "edit") {
		case 0: // an early message changes, the rest stays
			if at < len(out) {
				out[at] = token.Draw(t, "token")
			}
		case 1: // compaction: what came before the cut is summed up
			out = append(rapid.SliceOfN(token, 1, 4).Draw(t, "summary"), out[at:]...)
		case 2: // a fork
			out = out[:at]
		}
	}
	return append(out, rapid.SliceOfN(token, 1, 12).Draw(t, "more")...)
}

// TestTreeAgainstMap plays random conversations against a map of all snapshots; with a limit, against the snapshots that
// are left. Keys are compact at all times, bytes exact and below the limit, and the device is empty at the end.
func TestTreeAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		separate := rapid.Bool().Draw(rt, "separate")
		limited := rapid.Bool().Draw(rt, "limited")
		limit := int64(1 << 30)
		if limited {
			limit = int64(rapid.IntRange(1000, 9000).Draw(rt, "limit"))
		}
		m := newMaker(t, separate, limit)
		defer m.tree.Close()
		all := naive{}
		var talks [][]int32
		var held []*Handle
		for range rapid.IntRange(1, 25).Draw(rt, "turns") {
			ids := conversation(rt, talks)
			talks = append(talks, ids)
			prompt := rapid.IntRange(1, len(ids)).Draw(rt, "prompt")
			drafts := rapid.Bool().Draw(rt, "drafts")
			w := Want{Prompt: prompt, Drafts: drafts}
			if limited {
				all = left(m.tree)
			}
			h, n := m.tree.Lookup(ids, w)
			if want := all.lookup(m.tree, ids, w); n != want {
				rt.Fatalf("%v, %+v: got %d tokens, want %d", ids, w, n, want)
			}
			if h != nil && (h.Snapshot().Len != n || drafts && !h.Snapshot().Drafts()) {
				rt.Fatalf("got a snapshot of %d positions, drafts %v", h.Snapshot().Len, h.Snapshot().Drafts())
			}
			// Snapshots on the way, each on top of the one before.
			for at := n + 1; at <= len(ids); at += rapid.IntRange(1, 5).Draw(rt, "step") {
				s, err := m.take(at, prompt, drafts, h.Snapshot())
				if err != nil && limited {
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				next, err := m.tree.Insert(ids[:at], s)
				if err != nil && limited {
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				key := naiveKey(ids[:at], state.ClassKey(separate, prompt, at))
				all[key] = all[key] || drafts
				h.Release()
				h = next
			}
			held = append(held, h)
			for len(held) > 0 && rapid.Bool().Draw(rt, "release") {
				held[0].Release()
				held = held[1:]
			}
			check(rt, m)
		}
		for _, h := range held {
			h.Release()
		}
		if s := m.tree.Stats(); s.InUse != 0 {
			rt.Fatalf("got %+v, want nothing in use", s)
		}
		m.tree.Evict(1 << 40)
		check(rt, m)
		if s := m.tree.Stats(); s.Entries != 0 || s.Tokens != 0 || s.Bytes != 0 {
			rt.Fatalf("all evicted: got %+v, want nothing", s)
		}
	})
}

// left is what a tree holds.
func left(t *Tree) naive {
	out := naive{}
	for p := t.recent.Front(); p != nil; p = p.Next() {
		e := p.Value.(*entry)
		out[naiveKey(e.node.key(), e.class)] = e.snap.Drafts()
	}
	return out
}

// check asks for the tree's invariants.
func check(t *rapid.T, m *maker) {
	tree := m.tree
	entries, tokens := 0, 0
	var walk func(n *node[*entry])
	walk = func(n *node[*entry]) {
		if n != &tree.keys.root {
			if len(n.items) == 0 && len(n.kids) < 2 {
				t.Fatalf("node of %v holds nothing and parts nothing", n.key())
			}
			if n.depth != n.parent.depth+len(n.edge) || n.parent.kids[n.edge[0]] != n {
				t.Fatalf("node of %v is linked wrongly", n.key())
			}
		}
		for _, e := range n.items {
			if e.node != n || e.snap.Len != n.depth {
				t.Fatalf("entry of %d positions at %v", e.snap.Len, n.key())
			}
		}
		entries += len(n.items)
		tokens += len(n.edge)
		for _, k := range n.kids {
			walk(k)
		}
	}
	walk(&tree.keys.root)
	s := tree.Stats()
	if entries != s.Entries || tokens != s.Tokens {
		t.Fatalf("got %d entries and %d tokens, want %d and %d", s.Entries, s.Tokens, entries, tokens)
	}
	if want := m.used() + tokenBytes*int64(tokens); s.Bytes != want || s.Bytes > s.Limit {
		t.Fatalf("got %d bytes, want the device's %d and the limit's %d at most", s.Bytes, want, s.Limit)
	}
}

package prefix

import (
	"container/list"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// Options of a tree.
type Options struct {
	Pack     string        // fingerprint of the pack
	Device   metal.Info    // of the device that the snapshots are on
	Limit    int64         // bytes that snapshots and keys may take together; 0 keeps nothing
	Accounts state.Account // asked as well, for instance for the machine's limit; it may call Evict. nil: nobody
}

// Tree is a cache of snapshots by token prefix. It is safe for concurrent use; see the package comment.
type Tree struct {
	pack     string
	kind     string
	separate bool
	outer    state.Account
	limit    atomic.Int64
	used     atomic.Int64

	mu     sync.Mutex
	keys   radix[*entry]
	recent list.List // of *entry, the most recently used first
	stats  Stats
	closed bool
}

// entry is one snapshot in the tree.
type entry struct {
	node  *node[*entry]
	class int
	snap  *state.Snapshot
	uses  int           // handles out
	place *list.Element // nil: no longer in the tree
}

// tokenBytes is what a token of a key takes.
const tokenBytes = 4

// New returns an empty tree.
func New(o Options) *Tree {
	t := &Tree{pack: o.Pack, kind: o.Device.Kind, separate: o.Device.PromptRows, outer: o.Accounts}
	t.limit.Store(o.Limit)
	return t
}

// Pack is the fingerprint of the pack that the snapshots are of.
func (t *Tree) Pack() string { return t.pack }

// Want says which snapshots serve a request.
type Want struct {
	Prompt int  // how many of its tokens are its prompt, in tokens from the start
	Drafts bool // it must be able to draft
}

// serves reports whether an entry of n positions does.
func (w *Want) serves(t *Tree, e *entry, n int) bool {
	return e.class == state.ClassKey(t.separate, w.Prompt, n) && (!w.Drafts || e.snap.Drafts())
}

// Lookup finds the longest prefix of ids, but not all of them, that has a snapshot that serves: at least one token is left
// to run, for its logits. It returns nil and 0 when there is none. The caller releases the handle.
func (t *Tree) Lookup(ids []int32, w Want) (*Handle, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var best *entry
	t.keys.walk(ids[:max(0, len(ids)-1)], func(n *node[*entry]) {
		for _, e := range n.items {
			if w.serves(t, e, n.depth) {
				best = e
			}
		}
	})
	t.stats.Asked += int64(len(ids))
	if best == nil {
		t.stats.Misses++
		return nil, 0
	}
	t.stats.Hits++
	t.stats.Reused += int64(best.node.depth)
	return t.handle(best), best.node.depth
}

// At is the snapshot of exactly ids, or nil: for who is about to take one. It counts neither as hit nor as miss.
func (t *Tree) At(ids []int32, w Want) *Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.keys.at(ids)
	if n == nil {
		return nil
	}
	for _, e := range n.items {
		if w.serves(t, e, n.depth) {
			return t.handle(e)
		}
	}
	return nil
}

// handle notes a use. t.mu is held.
func (t *Tree) handle(e *entry) *Handle {
	t.recent.MoveToFront(e.place)
	e.uses++
	e.snap.Retain()
	return &Handle{tree: t, entry: e, snap: e.snap}
}

// Insert puts a snapshot of exactly ids into the tree and takes over the caller's reference to it. If there is one already
// that serves as well, that one stays, and s is released; a snapshot that can draft takes the place of one that cannot. It
// returns a handle on what the tree now holds. On an error, which wraps metal.ErrMemory when the key does not fit and
// state.ErrSnapshot when s is not of these ids or this tree, s is released and the tree is as it was.
func (t *Tree) Insert(ids []int32, s *state.Snapshot) (*Handle, error) {
	if s.Len != len(ids) || s.Kind != t.kind {
		err := fmt.Errorf("prefix: %w: got %d positions of device kind %q, want %d of %q", state.ErrSnapshot, s.Len, s.Kind, len(ids), t.kind)
		s.Release()
		return nil, err
	}
	booked := tokenBytes * int64(len(ids))
	if err := t.Take(booked); err != nil {
		s.Release()
		return nil, fmt.Errorf("prefix: key of %d tokens: %w", len(ids), err)
	}
	h, spare, added := t.insert(ids, s)
	t.Give(booked - added)
	if spare != nil {
		spare.Release()
	}
	if h == nil {
		return nil, fmt.Errorf("prefix: %w: the tree is closed", metal.ErrMemory)
	}
	return h, nil
}

// insert returns what the caller has to release and how many bytes the key took.
func (t *Tree) insert(ids []int32, s *state.Snapshot) (h *Handle, spare *state.Snapshot, added int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, s, 0
	}
	before := t.keys.tokens
	n := t.keys.put(ids)
	added = tokenBytes * int64(t.keys.tokens-before)
	class := state.ClassKey(t.separate, s.Prompt, s.Len)
	for _, e := range n.items {
		if e.class != class {
			continue
		}
		if e.snap.Drafts() || !s.Drafts() {
			t.stats.Duplicates++
			return t.handle(e), s, added
		}
		spare, e.snap = e.snap, s
		t.stats.Upgrades++
		return t.handle(e), spare, added
	}
	e := &entry{node: n, class: class, snap: s}
	e.place = t.recent.PushFront(e)
	n.items = append(n.items, e)
	t.stats.Inserts++
	return t.handle(e), nil, added
}

// remove takes an entry out and returns the bytes of keys that went with it. The caller releases its snapshot when t.mu is
// free again.
func (t *Tree) remove(e *entry) int64 {
	t.recent.Remove(e.place)
	e.place = nil
	n := e.node
	n.items = slices.DeleteFunc(n.items, func(o *entry) bool { return o == e })
	before := t.keys.tokens
	t.keys.prune(n)
	return tokenBytes * int64(before-t.keys.tokens)
}

// Close empties the tree and refuses what comes later. Snapshots that are in use are freed with their last handle.
func (t *Tree) Close() {
	t.mu.Lock()
	t.closed = true
	var all []*state.Snapshot
	keys := int64(0)
	for t.recent.Len() > 0 {
		e := t.recent.Back().Value.(*entry)
		all = append(all, e.snap)
		keys += t.remove(e)
	}
	t.mu.Unlock()
	t.Give(keys)
	for _, s := range all {
		s.Release()
	}
}

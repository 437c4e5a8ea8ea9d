package grammar

import "math/bits"

// stateMask is what a place allows, whatever lies below it: tokens that stay in it or end with it, and the nodes of a trie where it may be complete in the midst of a token.
type stateMask struct {
	dense  []uint64 // nil if there are few
	sparse []int32
	exits  []int32 // nodes of tree, ascending; 0, the root, if it may be complete already
	tree   *trie
}

// tailKey is a place and the frames below it, by identity: frames are immutable.
type tailKey struct {
	l  local
	up **frame
	n  int
}

// walker walks tries. Its buffers are reused.
type walker struct {
	stepper
	v      *Vocab
	levels [][]top
	set    []uint64
}

// walk follows the tokens below node from of t, src being the places at that node. each gets those that are allowed. With a bottom, exits gets the nodes where all above it
// may be complete, and nothing is followed below it.
func (w *walker) walk(t *trie, from int32, src []top, bottom *frame, each func(ids []int32), exits *[]int32) {
	base := int(t.depth[from])
	if len(w.levels) == 0 {
		w.levels = append(w.levels, nil)
	}
	w.levels[0] = append(w.levels[0][:0], src...)
	for n := from + 1; n < t.skip[from]; {
		d := int(t.depth[n]) - base
		if d == len(w.levels) {
			w.levels = append(w.levels, nil)
		}
		w.out = w.levels[d][:0]
		for _, p := range w.levels[d-1] {
			w.advance(p.l, p.up, int(t.bytes[n]))
		}
		w.levels[d] = w.out
		if len(w.out) == 0 {
			n = t.skip[n]
			continue
		}
		if ids := t.at(n); len(ids) > 0 {
			each(ids)
		}
		if bottom != nil {
			for _, p := range w.out {
				if w.g.ends(p.l, p.up, bottom) {
					*exits = append(*exits, n)
					break
				}
			}
		}
		n++
	}
}

// compute finds the mask of a place.
func (w *walker) compute(l local, reach uint32) *stateMask {
	if w.set == nil {
		w.set = make([]uint64, w.v.words)
	}
	clear(w.set)
	m := &stateMask{tree: w.v.all}
	n := &w.g.nodes[l.node]
	switch {
	case n.kind == kindString && l.phase == 0:
		m.tree = w.v.quoted.rest
		length := l.a
		if n.lits != nil { // names have no length, and this is a place in a trie
			length = unlimited
		}
		w.v.quoted.fill(w.set, length)
		if l.i > 0 {
			w.forbid(rawClose[l.i:])
		}
	case n.kind == kindRaw && l.phase == 0 && n.raw.not != "" && l.i&rawStarted == 0 && l.i != 0:
		// A closing tag with nothing before it is under way: little may follow.
	case n.kind == kindRaw && l.phase == 0 && (l.i&^rawStarted == 0 || l.a >= reach):
		m.tree = w.v.plain.rest
		w.v.plain.fill(w.set, l.a)
		if n.raw.not != "" && l.i&rawStarted == 0 {
			for i := range n.raw.not {
				w.forbid(n.raw.not[i : i+1])
			}
		}
	}
	bottom := &frame{}
	start := []top{{l, []*frame{bottom}}}
	if w.g.ends(l, start[0].up, bottom) {
		m.exits = append(m.exits, 0)
	}
	w.walk(m.tree, 0, start, bottom, func(ids []int32) {
		for _, id := range ids {
			setBit(w.set, id)
		}
	}, &m.exits)
	for tag, id := range w.bound {
		if id < 0 {
			continue
		}
		w.out = nil
		if w.advance(l, start[0].up, 256+tag); len(w.out) > 0 {
			setBit(w.set, id)
		}
	}
	m.pack(w.set)
	return m
}

// forbid takes the tokens that begin with a text out of the set.
func (w *walker) forbid(text string) {
	t, n := w.v.all, int32(0)
	for i := range len(text) {
		next := n + 1
		for next < t.skip[n] && t.bytes[next] != text[i] {
			next = t.skip[next]
		}
		if next >= t.skip[n] {
			return
		}
		n = next
	}
	for _, id := range t.ids[t.first[n]:t.first[t.skip[n]]] {
		w.set[id>>6] &^= 1 << (id & 63)
	}
}

// pack keeps the smaller form of set.
func (m *stateMask) pack(set []uint64) {
	if ids := list(set, len(set)*2); ids != nil {
		m.sparse = ids
	} else {
		m.dense = append([]uint64(nil), set...)
	}
}

func (m *stateMask) size() int { return 8*len(m.dense) + 4*len(m.sparse) + 4*len(m.exits) + 128 }

// state returns the mask of a place, cached.
func (b *Bound) state(l local) *stateMask {
	l = b.g.clip(l, b.reach, b.opens)
	m := b.states[l]
	if m == nil {
		m = b.walker.compute(l, b.reach)
		if b.bytes += m.size(); b.bytes > cacheBytes {
			clear(b.states)
			b.bytes = m.size()
		}
		b.states[l] = m
	}
	return m
}

// union adds what is allowed at a place to dst.
func (b *Bound) union(dst []uint64, l local, up []*frame) {
	m := b.state(l)
	for i, w := range m.dense {
		dst[i] |= w
	}
	for _, id := range m.sparse {
		setBit(dst, id)
	}
	exits := m.exits
	if len(exits) > 0 && exits[0] == 0 {
		exits = exits[1:]
		for _, f := range up {
			b.union(dst, f.l, f.up)
		}
	}
	if len(exits) == 0 || len(up) == 0 {
		return
	}
	key := tailKey{b.g.clip(l, b.reach, b.opens), &up[0], len(up)}
	ids, known := b.tails[key]
	if !known {
		ids = b.tail(m, exits, up)
		if len(b.tails) >= cacheTails {
			clear(b.tails)
		}
		b.tails[key] = ids
	}
	for _, id := range ids {
		setBit(dst, id)
	}
}

// tail lists the tokens that leave a place half-way and go on in what lies below.
func (b *Bound) tail(m *stateMask, exits []int32, up []*frame) (ids []int32) {
	w := &b.walker
	w.out = nil
	w.pop(up)
	start := w.out
	for _, n := range exits {
		if m.tree.skip[n] > n+1 {
			w.walk(m.tree, n, start, nil, func(at []int32) { ids = append(ids, at...) }, nil)
		}
	}
	return ids
}

// list returns the members of a set, nil if there are limit of them or more.
func list(set []uint64, limit int) []int32 {
	ids := make([]int32, 0, 16)
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			if len(ids) == limit {
				return nil
			}
			ids = append(ids, int32(i*64+bits.TrailingZeros64(w)))
		}
	}
	return ids
}

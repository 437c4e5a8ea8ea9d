package grammar

import "fmt"

// Matcher is a place in a text of a grammar. It is a few words: clone it to try tokens out, and drop the clone to take them back. One goroutine at a time; clones are independent.
type Matcher struct {
	g     *Grammar
	b     *Bound // nil: bytes only, every tag spelled
	tops  []top
	spare []top
	ended bool // a stop id was accepted

	spending
}

// Start returns a matcher that knows bytes only: tags are spelled, and there are no masks. Bound.Start is the one for a model.
func (g *Grammar) Start() *Matcher {
	return &Matcher{g: g, tops: []top{{local{node: g.root, rem: g.depth}, []*frame{{}}}}}
}

// Clone returns an independent copy. It costs a small allocation.
func (m *Matcher) Clone() *Matcher {
	c := *m
	c.tops, c.spare = append([]top(nil), m.tops...), nil
	return &c
}

// Set makes m a copy of o without allocating in the steady state.
func (m *Matcher) Set(o *Matcher) {
	m.g, m.b, m.ended, m.spending = o.g, o.b, o.ended, o.spending
	m.tops = append(m.tops[:0], o.tops...)
}

// AcceptBytes goes on over text. It reports whether a document goes on so; if not, m stays where it is.
func (m *Matcher) AcceptBytes(text []byte) bool {
	if m.ended {
		return len(text) == 0
	}
	cur := m.tops
	var bound []int32
	if m.b != nil {
		bound = m.b.tags
	}
	s := stepper{g: m.g, bound: bound}
	other, keep := m.spare, []top(nil)
	for i, b := range text {
		s.out = other[:0]
		for _, p := range cur {
			s.advance(p.l, p.up, int(b))
		}
		if len(s.out) == 0 {
			m.spare = s.out
			return false
		}
		if i == 0 { // m.tops stays whole until all went well
			other = keep
		} else {
			other = cur
		}
		cur = s.out
	}
	if len(text) > 0 {
		m.tops, m.spare = cur, m.tops
	}
	return true
}

// Accept goes on over a token. It reports whether the mask allows id; if not, m stays where it is. After a stop id nothing but stop ids is accepted.
func (m *Matcher) Accept(id int32) bool {
	want := m.next()
	if want >= 0 && id != want || !m.accept(id) {
		return false
	}
	m.spend(id, want >= 0)
	return true
}

// accept is Accept by the grammar alone.
func (m *Matcher) accept(id int32) bool {
	if m.b == nil {
		if m.budget == nil {
			panic("grammar: Accept on a matcher without a vocabulary")
		}
		return true
	}
	for _, s := range m.b.stop {
		if s == id {
			if m.Done() {
				m.ended = true
			}
			return m.ended
		}
	}
	if m.ended || id < 0 {
		return false
	}
	for tag, t := range m.b.tags {
		if t == id {
			return m.symbol(256 + tag)
		}
	}
	if int(id) >= len(m.b.v.pieces) || m.b.v.pieces[id] == nil {
		return false
	}
	return m.AcceptBytes(m.b.v.pieces[id])
}

func (m *Matcher) symbol(sym int) bool {
	s := stepper{g: m.g, bound: m.b.tags, out: m.spare[:0]}
	for _, p := range m.tops {
		s.advance(p.l, p.up, sym)
	}
	if len(s.out) == 0 {
		m.spare = s.out
		return false
	}
	m.tops, m.spare = s.out, m.tops
	return true
}

// Done reports whether the text so far is a whole document. More may still be allowed, as digits after a number.
func (m *Matcher) Done() bool {
	if m.ended || m.g == nil {
		return true
	}
	for _, p := range m.tops {
		if m.g.ends(p.l, p.up, nil) {
			return true
		}
	}
	return false
}

// Mask fills dst, Vocab.Words long, with the ids that may come next: bit id%64 of word id/64, as sample.SampleAllowed wants it. Stop ids are among them exactly if Done. Never
// is no id allowed. A matcher that takes any id (Any) has no mask.
func (m *Matcher) Mask(dst []uint64) {
	want := m.next()
	if m.b == nil && want < 0 || m.b != nil && len(dst) != m.b.v.words {
		panic(fmt.Sprintf("grammar: mask of %d words, or no vocabulary", len(dst)))
	}
	clear(dst)
	if want >= 0 && !m.ended {
		setBit(dst, want)
		return
	}
	if m.Done() {
		for _, id := range m.b.stop {
			setBit(dst, id)
		}
	}
	if m.ended {
		return
	}
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	for _, p := range m.tops {
		m.b.union(dst, p.l, p.up)
	}
}

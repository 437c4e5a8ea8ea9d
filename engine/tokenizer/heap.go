package tokenizer

// candidate is a pair that may merge. It is stale when the symbols at its place are no longer the two it was made of.
type candidate struct {
	rank        uint64 // rank<<32|merged
	at          int32
	left, right int32
}

func (c candidate) before(d candidate) bool {
	if c.rank != d.rank {
		return c.rank < d.rank
	}
	return c.at < d.at
}

// pile is a binary min-heap of candidates, by rank and then from the left.
type pile []candidate

func (p *pile) push(c candidate) {
	h := append(*p, c)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*p = h
}

func (p *pile) pop() candidate {
	h := *p
	top, n := h[0], len(h)-1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(h[i]) {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	*p = h
	return top
}

// heap merges a long word over a linked list of symbols, in n log n: the same order of merges as scan.
func (m *merger) heap(out []int32, word string) []int32 {
	type symbol struct{ id, prev, next int32 }
	const gone = -1 // id of a symbol that was merged into its left neighbour
	n := int32(len(word))
	list := make([]symbol, n)
	for i := range n {
		list[i] = symbol{m.bytes[word[i]], i - 1, i + 1}
	}
	var p pile
	offer := func(at int32) {
		next := list[at].next
		if next >= n {
			return
		}
		if r := m.rank(list[at].id, list[next].id); r != noRank {
			p.push(candidate{r, at, list[at].id, list[next].id})
		}
	}
	for i := range n - 1 {
		offer(i)
	}
	for len(p) > 0 {
		c := p.pop()
		next := list[c.at].next
		if list[c.at].id != c.left || next >= n || list[next].id != c.right {
			continue
		}
		list[c.at].id = int32(uint32(c.rank))
		list[next].id = gone
		list[c.at].next = list[next].next
		if after := list[next].next; after < n {
			list[after].prev = c.at
		}
		if list[c.at].prev >= 0 {
			offer(list[c.at].prev)
		}
		offer(c.at)
	}
	for i := int32(0); i < n; i = list[i].next {
		out = append(out, list[i].id)
	}
	return out
}

package grammar

import "slices"

// literals is a trie over some spellings; node 0 is its root. A nil trie holds none.
type literals []literalNode

type literalNode struct {
	bytes []byte   // of the edges, in order of coming
	to    []int32  // where they lead
	index int32    // of the spelling that ends here, -1 if none does
	below []uint16 // indexes of the spellings that end here or further down, in order of coming
}

// add enters a spelling. It reports whether it is new.
func (t *literals) add(text string, index uint16) bool {
	if *t == nil {
		*t = literals{{index: -1}}
	}
	path := []int32{0}
	at := int32(0)
	for i := range len(text) {
		to := t.child(at, text[i])
		if to < 0 {
			to = int32(len(*t))
			*t = append(*t, literalNode{index: -1})
			n := &(*t)[at]
			n.bytes, n.to = append(n.bytes, text[i]), append(n.to, to)
		}
		at = to
		path = append(path, at)
	}
	if (*t)[at].index >= 0 {
		return false
	}
	(*t)[at].index = int32(index)
	for _, p := range path {
		(*t)[p].below = append((*t)[p].below, index)
	}
	return true
}

// child returns the node that b leads to, -1 if there is none.
func (t literals) child(at int32, b byte) int32 {
	n := &t[at]
	if i := slices.Index(n.bytes, b); i >= 0 {
		return n.to[i]
	}
	return -1
}

// leaf reports whether no spelling goes on from here.
func (t literals) leaf(at int32) bool { return len(t[at].to) == 0 }

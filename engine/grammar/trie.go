package grammar

import (
	"bytes"
	"slices"
)

// trie holds tokens by their bytes, laid out in preorder, so that a walk runs through memory forwards and skips what it need not see. Node 0 is the root.
type trie struct {
	bytes []byte   // the byte that leads to a node
	depth []uint16 // bytes up to it
	skip  []int32  // the first node that is not below it
	first []int32  // the first token at or below it, as an index into ids; one more entry at the end
	ids   []int32  // by the order of their bytes
}

// newTrie enters ids, whose bytes piece gives; none is empty or longer than 2^16-1.
func newTrie(ids []int32, piece func(int32) []byte) *trie {
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b int32) int { return bytes.Compare(piece(a), piece(b)) })
	t := &trie{bytes: []byte{0}, depth: []uint16{0}, skip: []int32{0}, first: []int32{0}, ids: ids}
	path := []int32{0} // nodes on the way to the last token
	var last []byte
	for k, id := range ids {
		p := piece(id)
		common := 0
		for common < len(p) && common < len(last) && p[common] == last[common] {
			common++
		}
		for _, n := range path[common+1:] {
			t.skip[n] = int32(len(t.bytes))
		}
		path = path[:common+1]
		for i := common; i < len(p); i++ {
			path = append(path, int32(len(t.bytes)))
			t.bytes, t.depth = append(t.bytes, p[i]), append(t.depth, uint16(i+1))
			t.skip, t.first = append(t.skip, 0), append(t.first, int32(k))
		}
		last = p
	}
	for _, n := range path {
		t.skip[n] = int32(len(t.bytes))
	}
	t.first = append(t.first, int32(len(ids)))
	return t
}

// at lists the tokens that end at a node.
func (t *trie) at(n int32) []int32 { return t.ids[t.first[n]:t.first[n+1]] }

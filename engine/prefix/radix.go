package prefix

import "slices"

// radix is a tree over runs of token ids. A node's key is the edges from the root down to it. Nodes without items exist
// only where keys part. It takes no locks.
type radix[T any] struct {
	root   node[T]
	tokens int // in all edges
}

type node[T any] struct {
	parent *node[T]
	edge   []int32
	depth  int // tokens from the root
	kids   map[int32]*node[T]
	items  []T
}

// common is how many leading tokens a and b share.
func common(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// walk visits the nodes whose keys are prefixes of ids, the shortest first, and returns the last and how many tokens of
// the edge after it match too.
func (r *radix[T]) walk(ids []int32, visit func(*node[T])) (last *node[T], more int) {
	n := &r.root
	for {
		visit(n)
		rest := ids[n.depth:]
		if len(rest) == 0 {
			return n, 0
		}
		kid := n.kids[rest[0]]
		if kid == nil {
			return n, 0
		}
		if c := common(kid.edge, rest); c < len(kid.edge) {
			return n, c
		}
		n = kid
	}
}

// at is the node of ids, or nil.
func (r *radix[T]) at(ids []int32) *node[T] {
	n, _ := r.walk(ids, func(*node[T]) {})
	if n.depth != len(ids) {
		return nil
	}
	return n
}

// put returns the node of ids, made if it is not there.
func (r *radix[T]) put(ids []int32) *node[T] {
	n, more := r.walk(ids, func(*node[T]) {})
	if n.depth == len(ids) {
		return n
	}
	if more > 0 {
		n = n.kids[ids[n.depth]].split(more)
		if n.depth == len(ids) {
			return n
		}
	}
	kid := &node[T]{parent: n, edge: slices.Clone(ids[n.depth:]), depth: len(ids)}
	n.adopt(kid)
	r.tokens += len(kid.edge)
	return kid
}

func (n *node[T]) adopt(kid *node[T]) {
	if n.kids == nil {
		n.kids = map[int32]*node[T]{}
	}
	kid.parent = n
	n.kids[kid.edge[0]] = kid
}

// split cuts a node's edge after at tokens and returns the new node between.
func (n *node[T]) split(at int) *node[T] {
	mid := &node[T]{edge: slices.Clone(n.edge[:at]), depth: n.depth - len(n.edge) + at}
	n.parent.adopt(mid)
	n.edge = slices.Clone(n.edge[at:])
	mid.adopt(n)
	return mid
}

// prune removes a node that holds nothing any more, and every node above that has become useless with it.
func (r *radix[T]) prune(n *node[T]) {
	for n != &r.root && len(n.items) == 0 {
		switch len(n.kids) {
		case 0:
			delete(n.parent.kids, n.edge[0])
			r.tokens -= len(n.edge)
			n = n.parent
		case 1:
			for _, kid := range n.kids {
				kid.edge = slices.Concat(n.edge, kid.edge)
				n.parent.adopt(kid)
			}
			return
		default:
			return
		}
	}
}

// key is the tokens of a node.
func (n *node[T]) key() []int32 {
	out := make([]int32, n.depth)
	for ; n.parent != nil; n = n.parent {
		copy(out[n.depth-len(n.edge):], n.edge)
	}
	return out
}

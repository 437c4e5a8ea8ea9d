package grammar

import "math"

type kind uint8

const (
	kindBottom  kind = iota // below the document: it is complete
	kindString              // a JSON string; with lits, a property name that is none of them
	kindNumber              // digits on an automaton
	kindLiteral             // one of some spellings
	kindObject
	kindArray
	kindAlt    // any of its members; never itself on the stack
	kindSeq    // elements one after another
	kindRepeat // items separated by a newline
	kindParams // the parameters of a tool call, up to and with </function>
	kindRaw    // text up to and with a closing tag
)

const (
	never     = math.MaxUint8  // the height of a node that no finite document fits
	unlimited = math.MaxUint32 // no upper bound
)

// node is one compiled place of a schema. Nodes refer to each other by index; 0 is the bottom.
type node struct {
	kind   kind
	height uint8 // levels of arrays and objects that the smallest document needs
	at     string

	min, max uint32 // code points of strings and raw text, items of arrays, max of repeats

	items   int32      // array, repeat
	first   int32      // repeat: what comes first instead, 0 if nothing special
	members []int32    // alt; after linking, none of them an alt. array: its items one by one, if they are fixed
	digits  *automaton // number
	lits    literals   // literal, object, params, string

	props []property // object, params
	next  []uint16   // next[i] is the first required property from i on, len(props) if none
	extra int32      // object: the value of further properties, -1 if there are none
	free  int32      // object: the names of further properties

	elems []elem // seq
	raw   rawSpec

	guard bool // string: rawClose must not appear, for a reader of tool calls would cut there
}

type property struct {
	name     string
	value    int32
	required bool
	raw      bool // params: the value's node takes the closing tag as well
}

type elemKind uint8

const (
	elemLit  elemKind = iota // text, byte for byte
	elemTag                  // text, or the added token of that name if the vocabulary has it
	elemCall                 // node
)

type elem struct {
	kind elemKind
	text string
	tag  int
	node int32
}

// rawSpec says how raw text ends. close has '<' at its beginning and nowhere else, so that matching it needs no fallback.
type rawSpec struct {
	close   string
	newline bool   // a newline belongs before close; close without one is not allowed
	fresh   bool   // the text begins at the beginning of a line
	tag     int    // the tag that close is, -1 if it is plain text
	open    bool   // the text may end anywhere instead, and never with close
	not     string // bytes that the text cannot begin with
}

// Grammar is a compiled language. It is immutable and safe for concurrent use.
type Grammar struct {
	nodes []node
	root  int32
	depth uint8
	tags  []string // symbols beyond the bytes: 256 + index
}

// link completes the nodes: it flattens alternatives and finds heights. It fails if no finite document exists within the depth.
func (g *Grammar) link() error {
	if err := g.flatten(); err != nil {
		return err
	}
	for i := range g.nodes {
		g.nodes[i].height = never
	}
	for changed := true; changed; {
		changed = false
		for i := range g.nodes {
			if h := g.measure(&g.nodes[i]); h < g.nodes[i].height {
				g.nodes[i].height, changed = h, true
			}
		}
	}
	if root := &g.nodes[g.root]; root.height == never {
		return &SchemaError{Pointer: root.at, Kind: ErrUnsatisfiable, Reason: "no finite document fits"}
	} else if root.height > g.depth {
		return &SchemaError{Pointer: root.at, Kind: ErrLimit, Reason: "the smallest document is nested deeper than allowed"}
	}
	// Alternatives are never on the stack, so the root is not one.
	g.root = g.put(node{kind: kindSeq, height: g.nodes[g.root].height, elems: []elem{{kind: elemCall, node: g.root}}})
	return nil
}

// measure computes a height from the heights known so far, which only ever fall.
func (g *Grammar) measure(n *node) uint8 {
	h := uint8(0)
	switch n.kind {
	case kindAlt:
		h = never
		for _, m := range n.members {
			h = min(h, g.nodes[m].height)
		}
		return h
	case kindObject, kindParams:
		for _, p := range n.props {
			if p.required {
				h = max(h, g.nodes[p.value].height)
			}
		}
		if n.kind == kindParams {
			return h
		}
		return grow(h)
	case kindArray:
		if n.min > 0 && n.members == nil {
			h = g.nodes[n.items].height
		}
		for _, m := range n.members {
			h = max(h, g.nodes[m].height)
		}
		return grow(h)
	case kindRepeat:
		return max(g.nodes[n.items].height, g.nodes[n.first].height)
	case kindSeq:
		for _, e := range n.elems {
			if e.kind == elemCall {
				h = max(h, g.nodes[e.node].height)
			}
		}
	}
	return h
}

func grow(h uint8) uint8 {
	if h >= never-1 {
		return never
	}
	return h + 1
}

// flatten replaces members that are alternatives themselves by theirs.
func (g *Grammar) flatten() error {
	const (
		fresh = iota
		open
		done
	)
	state := make([]uint8, len(g.nodes))
	var visit func(i int32) error
	visit = func(i int32) error {
		n := &g.nodes[i]
		if n.kind != kindAlt || state[i] == done {
			return nil
		}
		if state[i] == open {
			return &SchemaError{Keyword: "$ref", Pointer: n.at, Kind: ErrUnsatisfiable, Reason: "leads back to itself without a value in between"}
		}
		state[i] = open
		var flat []int32
		seen := map[int32]bool{}
		for _, m := range n.members {
			if err := visit(m); err != nil {
				return err
			}
			list := []int32{m}
			if g.nodes[m].kind == kindAlt {
				list = g.nodes[m].members
			}
			for _, k := range list {
				if !seen[k] {
					seen[k], flat = true, append(flat, k)
				}
			}
		}
		if len(flat) > maxAlternatives {
			return &SchemaError{Keyword: "anyOf", Pointer: n.at, Kind: ErrLimit, Reason: "more than 256 alternatives"}
		}
		n.members, state[i] = flat, done
		return nil
	}
	for i := range g.nodes {
		if err := visit(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

// tag returns the index of a tag, new or known.
func (g *Grammar) tag(name string) int {
	for i, t := range g.tags {
		if t == name {
			return i
		}
	}
	g.tags = append(g.tags, name)
	return len(g.tags) - 1
}

func (g *Grammar) put(n node) int32 {
	g.nodes = append(g.nodes, n)
	return int32(len(g.nodes) - 1)
}

package grammar

// local is a place within one node, with all that decides what may come there and above; what lies below is its frame's.
type local struct {
	node  int32
	phase uint8
	rem   uint8  // arrays and objects that may still be opened inside; 0 at scalars
	i     uint16 // object, params: next property. array: white space. seq: place in the element. raw: see step_raw.go
	a, b  uint32 // see the step of each kind
}

// frame is a place to go on from when what lies above it is complete. Frames are immutable; clones share them.
type frame struct {
	l  local
	up []*frame // below it on the stack; several where several readings of the text have met
}

// top is a place that reads the next byte.
type top struct {
	l  local
	up []*frame
}

// stepper moves tops over one symbol: a byte, or 256 + the index of a tag. out collects where they get, one top for each local.
type stepper struct {
	g     *Grammar
	bound []int32 // by tag: the id of its added token, -1 if it is spelled; nil: all are spelled
	out   []top
}

// add puts a place into out. Readings that meet share it from here on.
func (s *stepper) add(l local, up []*frame) {
	for i := range s.out {
		if s.out[i].l == l {
			s.out[i].up = join(s.out[i].up, up)
			return
		}
	}
	s.out = append(s.out, top{l, up})
}

func same(a, b []*frame) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// join is the union of two sets of frames. It changes neither.
func join(a, b []*frame) []*frame {
	if same(a, b) {
		return a
	}
	out := a
	for _, f := range b {
		known := false
		for _, e := range out {
			if e == f || e.l == f.l && same(e.up, f.up) {
				known = true
				break
			}
		}
		if !known {
			if len(out) == len(a) {
				out = append(make([]*frame, 0, len(a)+len(b)), a...)
			}
			out = append(out, f)
		}
	}
	return out
}

// pop goes on below a place that is complete.
func (s *stepper) pop(up []*frame) {
	for _, f := range up {
		s.add(f.l, f.up)
	}
}

// below moves what lies below a place that may be complete.
func (s *stepper) below(up []*frame, sym int) {
	for _, f := range up {
		s.advance(f.l, f.up, sym)
	}
}

// call begins node with sym, to go on at back.
func (s *stepper) call(to int32, back local, up []*frame, sym int) {
	if s.begins(to, back.rem, sym) {
		s.enter(to, back.rem, []*frame{{back, up}}, sym)
	}
}

// enter begins node with sym on top of up.
func (s *stepper) enter(to int32, rem uint8, up []*frame, sym int) {
	n := &s.g.nodes[to]
	if n.kind != kindAlt {
		if n.height <= rem {
			s.advance(s.g.begin(to, rem), up, sym)
		}
		return
	}
	for _, m := range n.members {
		if k := &s.g.nodes[m]; k.height <= rem && k.begins(sym) {
			s.advance(s.g.begin(m, rem), up, sym)
		}
	}
}

// begins reports whether a document of a node may begin with sym; it may err on the side of yes.
func (s *stepper) begins(to int32, rem uint8, sym int) bool {
	n := &s.g.nodes[to]
	if n.height > rem {
		return false
	}
	if n.kind != kindAlt {
		return n.begins(sym)
	}
	for _, m := range n.members {
		if k := &s.g.nodes[m]; k.height <= rem && k.begins(sym) {
			return true
		}
	}
	return false
}

func (n *node) begins(sym int) bool {
	if sym > 255 {
		return n.kind >= kindAlt
	}
	switch n.kind {
	case kindString:
		return sym == '"'
	case kindNumber:
		return n.digits.step(0, byte(sym)) >= 0
	case kindLiteral:
		return n.lits.child(0, byte(sym)) >= 0
	case kindObject:
		return sym == '{'
	case kindArray:
		return sym == '['
	}
	return true
}

// begin is the place before a node's first byte.
func (g *Grammar) begin(at int32, rem uint8) local {
	l := local{node: at}
	switch n := &g.nodes[at]; n.kind {
	case kindString:
		l.phase, l.a, l.b = quoteOpen, n.max, n.min
	case kindObject:
		l.phase, l.rem = objectOpen, rem-1
	case kindArray:
		l.phase, l.rem, l.a, l.b = arrayOpen, rem-1, n.max, n.min
	case kindRepeat:
		l.rem, l.a = rem, n.max-1
	case kindRaw:
		l.a, l.b = n.max, n.min
		if n.raw.fresh {
			l.i = rawNewline
		}
	case kindSeq, kindParams:
		l.rem = rem
	}
	return l
}

// advance moves one place over sym.
func (s *stepper) advance(l local, up []*frame, sym int) {
	n := &s.g.nodes[l.node]
	if sym > 255 && n.kind < kindSeq {
		if s.g.mayEnd(l) {
			s.below(up, sym)
		}
		return
	}
	switch b := byte(sym); n.kind {
	case kindString:
		s.text(n, l, up, b)
	case kindNumber:
		if n.digits.accept[l.a] {
			s.below(up, sym)
		}
		if to := n.digits.step(l.a, b); to >= 0 {
			l.a = uint32(to)
			s.add(l, up)
		}
	case kindLiteral:
		if n.lits[l.a].index >= 0 {
			s.below(up, sym)
		}
		if to := n.lits.child(int32(l.a), b); to >= 0 {
			if n.lits.leaf(to) {
				s.pop(up)
			} else {
				l.a = uint32(to)
				s.add(l, up)
			}
		}
	case kindObject:
		s.object(n, l, up, b)
	case kindArray:
		s.array(n, l, up, b)
	case kindSeq:
		s.seq(n, l, up, sym)
	case kindRepeat:
		s.repeat(n, l, up, sym)
	case kindParams:
		s.params(n, l, up, sym)
	case kindRaw:
		s.raw(n, l, up, sym)
	}
}

// mayEnd reports whether a place is complete, though more may follow in it.
func (g *Grammar) mayEnd(l local) bool {
	switch n := &g.nodes[l.node]; n.kind {
	case kindNumber:
		return n.digits.accept[l.a]
	case kindLiteral:
		return n.lits[l.a].index >= 0
	case kindRepeat:
		return l.phase == repeatAfter
	case kindRaw:
		return n.raw.open && l.phase == 0
	}
	return false
}

// ends reports whether all that lies above bottom may be complete.
func (g *Grammar) ends(l local, up []*frame, bottom *frame) bool {
	if l.node == 0 {
		return true
	}
	if !g.mayEnd(l) {
		return false
	}
	for _, f := range up {
		if f == bottom || g.ends(f.l, f.up, bottom) {
			return true
		}
	}
	return false
}

// clip makes places alike that no token of the vocabulary can tell apart: counts beyond size, nesting beyond levels.
func (g *Grammar) clip(l local, size uint32, levels uint8) local {
	l.rem = min(l.rem, levels)
	switch n := &g.nodes[l.node]; n.kind {
	case kindString, kindRaw:
		if n.lits == nil {
			l.a, l.b = min(l.a, size), min(l.b, size)
		}
	case kindArray:
		if n.members == nil {
			l.a, l.b = min(l.a, size), min(l.b, size)
		}
	case kindRepeat:
		l.a = min(l.a, size)
	}
	return l
}

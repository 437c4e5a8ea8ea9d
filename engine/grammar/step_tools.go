package grammar

// Phases of a repeat. a: items that may still come after this one.
const (
	repeatStart = iota
	repeatAfter // complete, or a newline and one more
	repeatNext
)

// Phases of parameters. i: the first that may come.
const (
	paramsTag   = iota // in "<parameter=name>\n" or "</function>\n"; a: place in the trie
	paramsValue        // i: whose
	paramsClose        // a: place in paramClose
)

const (
	paramClose = "\n</parameter>\n"
	rawClose   = "</parameter>"
)

// seq: a is the element, i the place in it.
func (s *stepper) seq(n *node, l local, up []*frame, sym int) {
	e := &n.elems[l.a]
	switch {
	case e.kind == elemCall && int(l.a) == len(n.elems)-1:
		s.enter(e.node, l.rem, up, sym)
	case e.kind == elemCall:
		l.a, l.i = l.a+1, 0
		s.call(e.node, l, up, sym)
	case e.kind == elemTag && s.isToken(e.tag):
		if sym == 256+e.tag {
			s.following(n, l, up)
		}
	case sym == int(e.text[l.i]):
		if l.i++; int(l.i) < len(e.text) {
			s.add(l, up)
		} else {
			s.following(n, l, up)
		}
	}
}

func (s *stepper) isToken(tag int) bool { return s.bound != nil && s.bound[tag] >= 0 }

// following goes on with the next element.
func (s *stepper) following(n *node, l local, up []*frame) {
	if l.a, l.i = l.a+1, 0; int(l.a) == len(n.elems) {
		s.pop(up)
		return
	}
	s.add(l, up)
}

func (s *stepper) repeat(n *node, l local, up []*frame, sym int) {
	if l.phase == repeatAfter {
		if sym == '\n' && l.a > 0 {
			if l.phase = repeatNext; l.a != unlimited {
				l.a--
			}
			s.add(l, up)
		}
		s.below(up, sym)
		return
	}
	item := n.items
	if l.phase == repeatStart && n.first != 0 {
		item = n.first
	}
	l.phase = repeatAfter
	s.call(item, l, up, sym)
}

func (s *stepper) params(n *node, l local, up []*frame, sym int) {
	switch l.phase {
	case paramsTag:
		if sym > 255 {
			return
		}
		to := n.lits.child(int32(l.a), byte(sym))
		if to < 0 || !s.listed(n, l, to) {
			return
		}
		switch k := n.lits[to].index; {
		case k < 0:
			l.a = uint32(to)
			s.add(l, up)
		case int(k) == len(n.props):
			s.pop(up)
		default:
			l.phase, l.i, l.a = paramsValue, uint16(k), 0
			s.add(l, up)
		}
	case paramsValue:
		p := &n.props[l.i]
		if l.phase, l.i = paramsClose, l.i+1; p.raw {
			l.a = uint32(len(paramClose) - 1)
		}
		s.call(p.value, l, up, sym)
	case paramsClose:
		if sym != int(paramClose[l.a]) {
			return
		}
		if l.a++; int(l.a) == len(paramClose) {
			l.phase, l.a = paramsTag, 0
		}
		s.add(l, up)
	}
}

package grammar

// Phases of objects and arrays. White space read at a place is in a (object) or i (array), see space.
const (
	objectOpen  = iota // before '{'
	objectStart        // after it; i: first property that may come
	objectComma        // after ','
	objectName         // in the name of a listed property; a: place in the trie
	objectColon        // before ':'; i: the property, further for one that is not listed
	objectValue        // after it; a: 1 after a space
	objectAfter        // after a value
)

const (
	arrayOpen  = iota // before '['; a: items that may come, b: items that must come
	arrayStart        // after it
	arrayComma        // after ','
	arrayAfter        // after an item
)

const further = 1<<16 - 1

const (
	maxSpaces = 64
	maxTabs   = 16
)

// space is white space as a small automaton: 0 nothing, 1 one space, 2 a newline, then 2 + spaces or 2 + maxSpaces + tabs. It returns the
// state after b, 0 if b cannot follow.
func space(state uint32, b byte) uint32 {
	switch {
	case state == 0 && b == ' ':
		return 1
	case state == 0 && b == '\n':
		return 2
	case b == ' ' && state >= 2 && state < 2+maxSpaces:
		return state + 1
	case b == '\t' && state == 2:
		return 3 + maxSpaces
	case b == '\t' && state > 2+maxSpaces && state < 2+maxSpaces+maxTabs:
		return state + 1
	}
	return 0
}

func (s *stepper) object(n *node, l local, up []*frame, b byte) {
	closable := func() bool { return int(n.next[l.i]) == len(n.props) }
	switch l.phase {
	case objectOpen:
		if b == '{' {
			l.phase = objectStart
			s.add(l, up)
		}
	case objectStart, objectComma:
		switch {
		case b == '"':
			if s.listed(n, l, 0) {
				s.add(local{node: l.node, phase: objectName, rem: l.rem, i: l.i}, up)
			}
			if s.unlisted(n, l) {
				back := local{node: l.node, phase: objectColon, rem: l.rem, i: further}
				name := s.g.begin(n.free, 0)
				name.phase = 0
				if n.lits != nil {
					name.a = 1
				}
				s.add(name, []*frame{{back, up}})
			}
		case b == '}' && l.phase == objectStart && closable():
			s.pop(up)
		default:
			if l.a = space(l.a, b); l.a != 0 {
				s.add(l, up)
			}
		}
	case objectName:
		to := n.lits.child(int32(l.a), b)
		if to < 0 || !s.listed(n, l, to) {
			return
		}
		if l.a = uint32(to); n.lits[to].index >= 0 { // names end with their quote: none begins another
			l.phase, l.i, l.a = objectColon, uint16(n.lits[to].index), 0
		}
		s.add(l, up)
	case objectColon:
		if b == ':' {
			l.phase = objectValue
			s.add(l, up)
		}
	case objectValue:
		if b == ' ' {
			if l.a == 0 {
				l.a = 1
				s.add(l, up)
			}
			return
		}
		value, next := n.extra, uint16(len(n.props))
		if l.i != further {
			value, next = n.props[l.i].value, l.i+1
		}
		s.call(value, local{node: l.node, phase: objectAfter, rem: l.rem, i: next}, up, int(b))
	case objectAfter:
		switch {
		case b == ',':
			if l.a == 0 && (n.lits != nil && s.listed(n, l, 0) || s.unlisted(n, l)) {
				l.phase = objectComma
				s.add(l, up)
			}
		case b == '}':
			if closable() {
				s.pop(up)
			}
		default:
			if l.a = space(l.a, b); l.a != 0 && closable() {
				s.add(l, up)
			}
		}
	}
}

// listed reports whether a listed property may come whose name goes through the trie's node at: from l.i up to the next required one, and
// only if its value fits into the nesting that is left.
func (s *stepper) listed(n *node, l local, at int32) bool {
	if n.lits == nil {
		return false
	}
	return s.within(n, n.lits[at].below, l.i, n.next[l.i], l.rem)
}

func (s *stepper) within(n *node, list []uint16, from, to uint16, rem uint8) bool {
	for _, k := range list {
		if from <= k && k <= to && (int(k) == len(n.props) || s.g.nodes[n.props[k].value].height <= rem) {
			return true
		}
	}
	return false
}

// unlisted reports whether a property that is not listed may come.
func (s *stepper) unlisted(n *node, l local) bool {
	return n.extra >= 0 && int(n.next[l.i]) == len(n.props) && s.g.nodes[n.extra].height <= l.rem
}

func (s *stepper) array(n *node, l local, up []*frame, b byte) {
	switch l.phase {
	case arrayOpen:
		if b == '[' {
			l.phase = arrayStart
			s.add(l, up)
		}
		return
	case arrayAfter:
		if b == ',' {
			if l.i == 0 && l.a > 0 && s.g.nodes[s.item(n, l)].height <= l.rem {
				l.phase = arrayComma
				s.add(l, up)
			}
			return
		}
	}
	if b == ']' {
		if l.phase != arrayComma && l.b == 0 {
			s.pop(up)
		}
		return
	}
	if w := space(uint32(l.i), b); w != 0 {
		if l.i = uint16(w); l.phase != arrayAfter || l.b == 0 {
			s.add(l, up)
		}
		return
	}
	if l.phase == arrayAfter || l.a == 0 {
		return
	}
	item := s.item(n, l)
	l.phase, l.i = arrayAfter, 0
	if l.a != unlimited {
		l.a--
	}
	l.b -= min(l.b, 1)
	s.call(item, l, up, int(b))
}

// item is the node of the next item; there is one.
func (s *stepper) item(n *node, l local) int32 {
	if n.members != nil {
		return n.members[uint32(len(n.members))-l.a]
	}
	return n.items
}

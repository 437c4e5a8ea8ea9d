package grammar

// The i of raw text: how many bytes of the closing tag were matched, and what stood before them.
const (
	rawMatched = 1<<8 - 1
	rawAfter   = 1 << 8  // a newline stood before the match
	rawNewline = 1 << 9  // nothing matched, and the last byte was a newline
	rawStarted = 1 << 10 // there is text; only where its beginning matters
)

// raw: phase is that of utf8Step. a: code points that may come, b: code points that must come, both without those that i holds back: they
// are text only if the closing tag does not come of them.
func (s *stepper) raw(n *node, l local, up []*frame, sym int) {
	r := &n.raw
	if sym > 255 {
		if r.tag >= 0 && sym == 256+r.tag && s.isToken(r.tag) && !r.open && l.phase == 0 && (!r.newline || l.i&rawNewline != 0) {
			s.pop(up)
		}
		return
	}
	b := byte(sym)
	begins := uint32(0)
	if l.phase == 0 {
		begins = 1
	}
	var ok bool
	if l.phase, ok = utf8Step(l.phase, b); !ok {
		return
	}
	held, matched := r.held(l.i), l.i&rawMatched
	started := l.i&rawStarted != 0
	closing := true // b goes on with what may be the closing tag
	switch {
	case matched > 0 && b == r.close[matched]:
		if int(matched)+1 == len(r.close) {
			// Closing is not for text without a closing tag, and not for spelling where a token is meant.
			if r.open || r.tag >= 0 && s.isToken(r.tag) || r.newline && l.i&rawAfter == 0 || l.b > 0 {
				return
			}
			s.pop(up)
			return
		}
		l.i++
	case b == r.close[0]:
		if closing = l.i&rawNewline != 0 || !r.newline; closing && r.newline {
			l.i = 1 | rawAfter
		} else {
			l.i = 1
		}
	case b == '\n' && r.newline:
		closing = l.i&^rawStarted == 0
		l.i = rawNewline
	default:
		closing = false
		l.i = 0
	}
	now := r.held(l.i)
	if r.not != "" {
		if !started && !closing && (held > 0 || isOneOf(b, r.not)) || !started && now > 0 && l.b > 0 {
			return
		}
		l.i &^= rawStarted
		if started || !closing {
			l.i |= rawStarted
		}
	}
	settled := held + begins - now
	if l.a != unlimited {
		if l.a < settled {
			return
		}
		l.a -= settled
	}
	l.b -= min(l.b, settled)
	// Either the tag may still close the text here, or what is held back fits into it.
	if l.b > 0 && l.a < now {
		return
	}
	s.add(l, up)
}

// held is how many bytes at i belong to the closing tag if it comes.
func (r *rawSpec) held(i uint16) uint32 {
	n := uint32(i & rawMatched)
	switch {
	case !r.newline:
		return n
	case i&rawAfter != 0:
		return n + 1
	case i&rawNewline != 0:
		return 1
	}
	return 0
}

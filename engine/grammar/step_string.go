package grammar

// Phases of a JSON string. From 0 to 7 they are those of utf8Step. a: code points that may come, b: code points that must come. In the name
// of a further property instead a: 1 + the place in the trie of the listed names, 0 once the name differs from all of them. i: bytes of a guarded tag.
const (
	quoteEscape = 8 + iota // after '\'
	quoteU                 // after '\u'
	quoteU1                // after a first digit that is not d
	quoteD1                // after d
	quoteU2
	quoteU3
	quoteHigh2 // after the second digit of a high surrogate
	quoteHigh3
	quoteHigh     // after a high surrogate: '\'
	quoteHighEsc  // 'u'
	quoteLow      // 'd'
	quoteLow1     // c to f
	quoteLow2     // any
	quoteLow3     // any
	quoteOpen     // before the first quote
	shortEscapes  = "\"\\bfnrt"
	simpleEscapes = "\"\\/bfnrt"
)

func (s *stepper) text(n *node, l local, up []*frame, b byte) {
	if l.phase == quoteOpen {
		if b == '"' {
			l.phase = 0
			s.add(l, up)
		}
		return
	}
	if l.phase == 0 && b == '"' {
		if n.lits != nil {
			if l.a != 0 && n.lits.child(int32(l.a-1), '"') >= 0 {
				return // the name of a listed property
			}
		} else if l.b != 0 {
			return
		}
		s.pop(up)
		return
	}
	begins := l.phase == 0
	to, ok := quoteStep(l.phase, b)
	if !ok {
		return
	}
	if n.lits != nil {
		if l.phase == quoteEscape && !isOneOf(b, shortEscapes) {
			return // one spelling for each name
		}
		if l.a != 0 {
			l.a = uint32(n.lits.child(int32(l.a-1), b) + 1)
		}
	} else if begins {
		if l.a == 0 {
			return
		}
		if l.a != unlimited {
			l.a--
		}
		l.b -= min(l.b, 1)
	}
	if n.guard {
		switch {
		case b == rawClose[l.i]:
			if l.i++; int(l.i) == len(rawClose) {
				return
			}
		case b == rawClose[0]:
			l.i = 1
		default:
			l.i = 0
		}
	}
	l.phase = to
	s.add(l, up)
}

func isOneOf(b byte, set string) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// quoteStep moves inside a string over a byte that does not close it.
func quoteStep(phase uint8, b byte) (uint8, bool) {
	hex := b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
	switch phase {
	case 0:
		if b == '\\' {
			return quoteEscape, true
		}
		if b < 0x20 {
			return 0, false
		}
	case quoteEscape:
		if b == 'u' {
			return quoteU, true
		}
		return 0, isOneOf(b, simpleEscapes)
	case quoteU:
		if b|0x20 == 'd' {
			return quoteD1, true
		}
		return quoteU1, hex
	case quoteU1:
		return quoteU2, hex
	case quoteD1:
		if b >= '0' && b <= '7' {
			return quoteU2, true
		}
		return quoteHigh2, b == '8' || b == '9' || b|0x20 == 'a' || b|0x20 == 'b'
	case quoteHigh:
		return quoteHighEsc, b == '\\'
	case quoteHighEsc:
		return quoteLow, b == 'u'
	case quoteLow:
		return quoteLow1, b|0x20 == 'd'
	case quoteLow1:
		return quoteLow2, b|0x20 >= 'c' && b|0x20 <= 'f'
	case quoteU3, quoteLow3:
		return 0, hex
	case quoteU2, quoteHigh2, quoteHigh3, quoteLow2:
		return phase + 1, hex
	}
	return utf8Step(phase, b)
}

// utf8Step reads UTF-8: 0 is between characters, 1 to 3 want as many more bytes, 4 to 7 want a second byte in a narrower range. ok is false
// where no character goes on so.
func utf8Step(phase uint8, b byte) (to uint8, ok bool) {
	low, high := byte(0x80), byte(0xBF)
	switch phase {
	case 0:
		switch {
		case b < 0x80:
			return 0, true
		case b < 0xC2 || b > 0xF4:
			return 0, false
		case b < 0xE0:
			return 1, true
		case b == 0xE0:
			return 4, true
		case b == 0xED:
			return 5, true
		case b < 0xF0:
			return 2, true
		case b == 0xF0:
			return 6, true
		case b == 0xF4:
			return 7, true
		}
		return 3, true
	case 1, 2, 3:
		to = phase - 1
	case 4:
		to, low = 1, 0xA0
	case 5:
		to, high = 1, 0x9F
	case 6:
		to, low = 2, 0x90
	case 7:
		to, high = 2, 0x8F
	}
	return to, low <= b && b <= high
}

package grammar

import "strings"

// interval is a set of numbers. A nil bound is absent.
type interval struct {
	integer         bool
	low, high       *decimal
	openLow, openUp bool // the bound itself is left out
}

// key identifies an interval, so that equal ones share an automaton.
func (r interval) key() string {
	var s strings.Builder
	s.WriteByte("ni"[b2i(r.integer)])
	if r.low != nil {
		s.WriteString("[("[b2i(r.openLow):][:1] + r.low.String())
	}
	s.WriteByte(',')
	if r.high != nil {
		s.WriteString(r.high.String() + "])"[b2i(r.openUp):][:1])
	}
	return s.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

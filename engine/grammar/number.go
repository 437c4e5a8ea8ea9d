package grammar

import "strings"

const (
	int64Low  = "-9223372036854775808"
	int64High = "9223372036854775807"
	wholeMax  = 19 // digits before the point where no bound has more
	partMax   = 17 // digits behind the point where no bound has more: enough for any float64 between 0.1 and 1
)

type phase uint8

const (
	atStart phase = iota
	atMinus
	inWhole
	inZero // a whole part "0"
	atPoint
	inPart
	atExponent
	atSign
	inExponent
)

// spot is a state while the automaton is built: how many digits of the present part were read and how the number so far compares with the
// first digits of each bound of its sign.
type spot struct {
	phase    phase
	negative bool
	digits   int
	low, up  int8
}

// bounds are those of a magnitude.
type bounds struct {
	low, high       *decimal
	openLow, openUp bool
}

// builder makes an automaton from an interval.
type builder struct {
	interval
	whole, part int       // digits allowed
	side        [2]bounds // of numbers without and with '-'
	has         [2]bool
	exponent    bool
}

// newAutomaton returns nil if the interval holds no number.
func newAutomaton(r interval) *automaton {
	b := builder{interval: r, whole: wholeMax, part: partMax, exponent: !r.integer && r.low == nil && r.high == nil}
	if r.integer {
		b.round()
		if b.low.cmp(*b.high) > 0 {
			return nil
		}
	}
	for _, d := range []*decimal{b.low, b.high} {
		if d != nil {
			b.whole, b.part = max(b.whole, len(d.whole)), max(b.part, len(d.part)+1)
		}
	}
	b.split()
	return b.build()
}

// round makes the bounds of integers integers, inclusive, and present.
func (b *builder) round() {
	low, _, _ := parseDecimal(int64Low)
	high, _, _ := parseDecimal(int64High)
	if b.low != nil {
		low = b.low.inward(true, b.openLow)
		if b.high == nil && low.cmp(high) >= 0 { // beyond int64: as far as bounds may be, for those that are further were ignored
			high = decimal{whole: strings.Repeat("9", maxDigits)}
		}
	}
	if b.high != nil {
		high = b.high.inward(false, b.openUp)
		if b.low == nil && high.cmp(low) <= 0 {
			low = decimal{negative: true, whole: strings.Repeat("9", maxDigits)}
		}
	}
	b.low, b.high, b.openLow, b.openUp = &low, &high, false, false
}

// split makes bounds of magnitudes. There is no negative zero.
func (b *builder) split() {
	zero := &decimal{whole: "0"}
	if b.high == nil || !b.high.negative {
		b.has[0] = true
		b.side[0] = bounds{zero, b.high, false, b.openUp}
		if b.low != nil && !b.low.negative {
			b.side[0].low, b.side[0].openLow = b.low, b.openLow
		}
	}
	if b.low == nil || b.low.negative {
		b.has[1] = true
		b.side[1] = bounds{low: zero, openLow: true}
		if b.low != nil {
			b.side[1].high, b.side[1].openUp = &decimal{whole: b.low.whole, part: b.low.part}, b.openLow
		}
		if b.high != nil && b.high.negative {
			b.side[1].low, b.side[1].openLow = &decimal{whole: b.high.whole, part: b.high.part}, b.openUp
		}
	}
}

func (b *builder) bounds(s spot) *bounds {
	if s.negative {
		return &b.side[1]
	}
	return &b.side[0]
}

// compare goes on with a comparison by one digit; at is the digit's index in text, which goes on in zeros if fill.
func compare(so int8, text string, at int, digit byte, fill bool) int8 {
	if so != 0 {
		return so
	}
	want := byte('0')
	if at < len(text) {
		want = text[at]
	} else if !fill {
		return 0
	}
	switch {
	case digit < want:
		return -1
	case digit > want:
		return 1
	}
	return 0
}

// settle compares whole parts once it is known that n digits are all.
func settle(so int8, bound *decimal, n int) int8 {
	switch {
	case n < len(bound.whole):
		return -1
	case n > len(bound.whole):
		return 1
	}
	return so
}

// move returns the spot after symbol c; ok is false if no number goes on so.
func (b *builder) move(s spot, c int) (spot, bool) {
	digit := c < 10
	switch s.phase {
	case atStart:
		if c == 10 && b.has[1] {
			return spot{phase: atMinus, negative: true}, true
		}
		if digit && b.has[0] {
			return b.wholeDigit(s, c), true
		}
	case atMinus:
		if digit {
			return b.wholeDigit(s, c), true
		}
	case inWhole, inZero:
		switch {
		case digit && s.phase == inWhole && s.digits < b.whole:
			return b.wholeDigit(s, c), true
		case c == 11 && !b.integer:
			low, up := b.ended(s)
			return spot{atPoint, s.negative, 0, low, up}, true
		case c == 12 && b.exponent && b.accepts(s):
			return spot{phase: atExponent}, true
		}
	case atPoint, inPart:
		switch {
		case digit && s.digits < b.part:
			k := b.bounds(s)
			to := spot{inPart, s.negative, s.digits + 1, s.low, s.up}
			to.low = compare(s.low, k.low.part, s.digits, byte('0'+c), true)
			if k.high != nil {
				to.up = compare(s.up, k.high.part, s.digits, byte('0'+c), true)
			}
			return to, true
		case c == 12 && b.exponent && b.accepts(s):
			return spot{phase: atExponent}, true
		}
	case atExponent:
		if c == 10 || c == 13 {
			return spot{phase: atSign}, true
		}
		fallthrough
	case atSign:
		if digit {
			return spot{phase: inExponent, digits: 1}, true
		}
	case inExponent:
		if digit && s.digits < 2 {
			return spot{phase: inExponent, digits: 2}, true
		}
	}
	return spot{}, false
}

func (b *builder) wholeDigit(s spot, c int) spot {
	k := b.bounds(s)
	to := spot{inWhole, s.negative, s.digits + 1, s.low, s.up}
	if c == 0 && s.digits == 0 {
		to.phase = inZero
	}
	to.low = compare(s.low, k.low.whole, s.digits, byte('0'+c), false)
	if k.high != nil {
		to.up = compare(s.up, k.high.whole, s.digits, byte('0'+c), false)
	}
	return to
}

// ended compares with the bounds when the whole part is over.
func (b *builder) ended(s spot) (low, up int8) {
	k := b.bounds(s)
	low = settle(s.low, k.low, s.digits)
	if k.high != nil {
		up = settle(s.up, k.high, s.digits)
	}
	return low, up
}

// accepts reports whether a number may end at s.
func (b *builder) accepts(s spot) bool {
	k := b.bounds(s)
	low, up, read := s.low, s.up, 0
	switch s.phase {
	case inWhole, inZero:
		low, up = b.ended(s)
	case inPart:
		read = s.digits
	case inExponent:
		return true
	default:
		return false
	}
	if low < 0 || low == 0 && (read < len(k.low.part) || k.openLow) {
		return false
	}
	return k.high == nil || up < 0 || up == 0 && (read < len(k.high.part) || !k.openUp)
}

package grammar

import (
	"math/big"
	"strconv"
	"strings"
)

// decimal is a number written out: no leading zeros in whole ("0" for none), no trailing zeros in part.
type decimal struct {
	negative    bool
	whole, part string
}

// parseDecimal reads a JSON number. ok is false if it has more than maxDigits digits on either side of the point; then huge tells whether
// it is too big (as opposed to too fine).
func parseDecimal(text string) (d decimal, huge, ok bool) {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		e, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil {
			e = 1 << 30
			if text[i+1] == '-' {
				e = -e
			}
		}
		exponent = max(-1<<30, min(1<<30, e))
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, part, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+part, "0")
	point := len(digits) - len(part) + exponent // digits before the point
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{whole: "0"}, false, true
	}
	if point > maxDigits {
		return d, true, false
	}
	if len(digits)-point > maxDigits {
		return d, false, false
	}
	if point <= 0 {
		d.whole, d.part = "0", strings.Repeat("0", -point)+digits
	} else {
		digits += strings.Repeat("0", max(0, point-len(digits)))
		d.whole, d.part = digits[:point], digits[point:]
	}
	return d, false, true
}

func (d decimal) String() string {
	s := d.whole
	if d.negative {
		s = "-" + s
	}
	if d.part != "" {
		s += "." + d.part
	}
	return s
}

// cmp orders two decimals.
func (d decimal) cmp(e decimal) int {
	if d.negative != e.negative {
		if d.negative {
			return -1
		}
		return 1
	}
	c := len(d.whole) - len(e.whole)
	if c == 0 {
		if c = strings.Compare(d.whole, e.whole); c == 0 {
			c = strings.Compare(d.part, e.part)
		}
	}
	if d.negative {
		c = -c
	}
	return max(-1, min(1, c))
}

func (d decimal) isInteger() bool { return d.part == "" }

// inward rounds d to the integers: upwards for a lower bound, downwards for an upper one. beyond asks for the next one if d is an integer.
func (d decimal) inward(lower, beyond bool) decimal {
	n, _ := new(big.Int).SetString(d.whole, 10)
	if d.negative {
		n.Neg(n)
	}
	one := big.NewInt(1)
	switch {
	case d.part == "" && !beyond:
	case lower && (d.part == "" || !d.negative):
		n.Add(n, one)
	case !lower && (d.part == "" || d.negative):
		n.Sub(n, one)
	}
	return decimal{negative: n.Sign() < 0, whole: new(big.Int).Abs(n).String()}
}

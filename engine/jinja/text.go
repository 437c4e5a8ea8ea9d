package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// str is Python's str(): what printing a value gives.
func (r *run) str(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case Undefined:
		return "", nil
	}
	b, err := r.repr(nil, v, 0)
	if err != nil {
		return "", err
	}
	return string(b), r.spend(len(b))
}

// repr appends Python's repr().
func (r *run) repr(b []byte, v Value, depth int) ([]byte, error) {
	if depth > maxNesting {
		return nil, overLimit("nesting of a printed value", maxNesting)
	}
	if len(b) > r.limits.Bytes-r.bytes { // values that share their parts can be exponentially large
		return nil, overLimit("memory in bytes", r.limits.Bytes)
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "None"...), nil
	case Undefined:
		return append(b, "Undefined"...), nil
	case bool:
		if v {
			return append(b, "True"...), nil
		}
		return append(b, "False"...), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case *big.Int:
		return v.Append(b, 10), nil
	case float64:
		return append(b, floatText(v)...), nil
	case string:
		return reprString(b, v), nil
	case List:
		return r.reprItems(append(b, '['), v, ']', depth)
	case Tuple:
		b, err = r.reprItems(append(b, '('), List(v), ')', depth)
		if len(v) == 1 && err == nil {
			b = append(b[:len(b)-1], ",)"...)
		}
		return b, err
	case *Dict:
		b = append(b, '{')
		for i, k := range v.keys {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = r.repr(b, k, depth+1); err != nil {
				return nil, err
			}
			b = append(b, ": "...)
			if b, err = r.repr(b, v.vals[i], depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case *iter:
		if v.view != "" {
			b, err = r.reprItems(append(append(b, v.view...), "(["...), v.items, ']', depth)
			return append(b, ')'), err
		}
	}
	return nil, fail("a %s cannot be printed", typeName(v))
}

func (r *run) reprItems(b []byte, v List, end byte, depth int) ([]byte, error) {
	for i, x := range v {
		if i > 0 {
			b = append(b, ", "...)
		}
		var err error
		if b, err = r.repr(b, x, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, end), nil
}

// reprString quotes as Python does: single quotes unless the text has some and no double ones.
func reprString(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b = append(b, quote)
	for _, c := range s {
		switch {
		case c == rune(quote) || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == ' ' || unicode.IsPrint(c):
			b = append(b, string(c)...)
		case c < 0x100:
			b = fmt.Appendf(b, `\x%02x`, c)
		case c < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = fmt.Appendf(b, `\U%08x`, c)
		}
	}
	return append(b, quote)
}

// floatText is Python's repr of a float: the shortest digits that read back, in exponent form below 1e-4 and from 1e16 on, and never
// without a point or exponent.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// isSpace is Python's str.isspace for one character.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1C && c <= 0x1F }

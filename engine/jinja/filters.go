package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type filterFunc func(r *run, v Value, a arguments) (Value, error)

// filterNamed finds what stands behind a bar, nil if unknown. Sequences have their own file.
func filterNamed(id string) filterFunc {
	switch id {
	case "tojson":
		return toJSON
	case "safe", "string":
		return func(r *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			return r.str(v)
		}
	case "escape", "e", "forceescape":
		return text(id, func(_ *run, s string) (Value, error) {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(s), nil
		})
	case "upper", "lower", "capitalize", "title":
		return text(id, func(_ *run, s string) (Value, error) {
			if id == "title" {
				return titled(s), nil
			}
			return recase(id, s), nil
		})
	case "trim":
		return func(r *run, v Value, a arguments) (Value, error) {
			s, err := r.str(v)
			if err != nil {
				return nil, err
			}
			for i, k := range a.names {
				if k == "chars" {
					a = arguments{pos: []Value{a.named[i]}}
				}
			}
			return strip("strip", s, a)
		}
	case "replace":
		return func(r *run, v Value, a arguments) (Value, error) {
			p, err := a.bind(id, "old", "new", "count")
			if err != nil {
				return nil, err
			}
			for i := range 2 {
				if given(p[i]) {
					if p[i], err = r.str(p[i]); err != nil {
						return nil, err
					}
				}
			}
			s, err := r.str(v)
			if err != nil {
				return nil, err
			}
			return replace(r, s, p)
		}
	case "indent":
		return indent
	case "wordcount":
		return text(id, func(_ *run, s string) (Value, error) {
			return int64(len(strings.FieldsFunc(s, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsNumber(c) }))), nil
		})
	case "truncate":
		return truncate
	case "format":
		return func(r *run, v Value, a arguments) (Value, error) {
			s, err := r.str(v)
			if err != nil {
				return nil, err
			}
			if len(a.names) > 0 {
				return nil, fail("format: named arguments are not supported")
			}
			return r.percent(s, Tuple(a.pos))
		}
	case "default", "d":
		return func(_ *run, v Value, a arguments) (Value, error) {
			p, err := a.bind(id, "default_value", "boolean")
			if err != nil {
				return nil, err
			}
			_, undefined := v.(Undefined)
			if undefined || boolArg(p[1], false) && !truthy(v) {
				if given(p[0]) {
					return p[0], nil
				}
				return "", nil
			}
			return v, nil
		}
	case "abs":
		return func(_ *run, v Value, _ arguments) (Value, error) {
			i, f, isInt, ok := numeric(v)
			switch {
			case !ok:
				return nil, fail("bad operand type for abs(): '%s'", typeName(v))
			case isInt && i < 0:
				return sign("-", i)
			case isInt:
				return i, nil
			}
			return math.Abs(f), nil
		}
	case "int":
		return toInt
	case "float":
		return toFloat
	case "round":
		return round
	case "attr":
		return func(r *run, v Value, a arguments) (Value, error) {
			p, err := a.bind(id, "name")
			if err != nil {
				return nil, err
			}
			s, err := textArg(id, "name", p[0], "")
			if err != nil {
				return nil, err
			}
			if m := method(v, s); m != nil {
				return m, nil
			}
			if d, isDict := v.(*Dict); isDict {
				return absent(d, s), nil // attributes only, no items
			}
			return r.attribute(v, s)
		}
	}
	return sequenceFilter(id)
}

// text makes a filter without arguments of a function on str(value).
func text(id string, f func(r *run, s string) (Value, error)) filterFunc {
	return func(r *run, v Value, a arguments) (Value, error) {
		if _, err := a.bind(id); err != nil {
			return nil, err
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.spend(2 * len(s)); err != nil {
			return nil, err
		}
		return f(r, s)
	}
}

// titled is the filter title: words begin behind white space and opening signs, and the rest is small.
func titled(s string) string {
	start := true
	return strings.Map(func(c rune) rune {
		was := start
		start = isSpace(c) || strings.ContainsRune("-([{<", c)
		if was {
			return unicode.ToUpper(c)
		}
		return unicode.ToLower(c)
	}, s)
}

func toJSON(r *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("tojson", "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	if len(a.pos) > 0 {
		// The built-in filter's only positional argument is indent, the reference's is ensure_ascii: too easily mistaken.
		return nil, fail("tojson: give its arguments by name")
	}
	l := compact(r.limits.Bytes - r.bytes)
	l.ascii = boolArg(p[0], false)
	if boolArg(p[3], false) {
		l.order = r.order
	}
	switch x := p[1].(type) {
	case missing, nil:
	case int64:
		if x > 64 {
			return nil, fail("tojson: indent %d is too large", x)
		}
		l.multiline, l.indent, l.item = true, strings.Repeat(" ", int(max(x, 0))), ","
	case string:
		l.multiline, l.indent, l.item = true, x, ","
	default:
		return nil, fail("tojson: indent must be int, str or None, not %s", typeName(x))
	}
	if given(p[2]) && p[2] != nil {
		seps, err := r.iterate(p[2])
		if err != nil {
			return nil, err
		}
		if len(seps) != 2 {
			return nil, fail("tojson: separators must be two texts")
		}
		if l.item, err = textArg("tojson", "separators", seps[0], ""); err != nil {
			return nil, err
		}
		if l.pair, err = textArg("tojson", "separators", seps[1], ""); err != nil {
			return nil, err
		}
	}
	b, err := l.append(nil, v, 0)
	if err != nil {
		return nil, err
	}
	return string(b), r.spend(2 * len(b))
}

func indent(r *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("indent", "width", "first", "blank")
	if err != nil {
		return nil, err
	}
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	pad, isText := p[0].(string)
	if !isText {
		n, err := intArg("indent", "width", p[0], 4)
		if err != nil {
			return nil, err
		}
		if n > maxWidth {
			return nil, fail("indent: width %d is too large", n)
		}
		pad = strings.Repeat(" ", int(max(n, 0)))
	}
	lines := strings.Split(s, "\n")
	if err := r.repeat(len(pad), int64(len(lines))); err != nil {
		return nil, err
	}
	for i, line := range lines {
		if i == 0 && !boolArg(p[1], false) || line == "" && i > 0 && !boolArg(p[2], false) {
			continue
		}
		lines[i] = pad + line
	}
	return strings.Join(lines, "\n"), r.spend(len(s))
}

func truncate(r *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("truncate", "length", "killwords", "end", "leeway")
	if err != nil {
		return nil, err
	}
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	n, err := intArg("truncate", "length", p[0], 255)
	if err != nil {
		return nil, err
	}
	end, err := textArg("truncate", "end", p[2], "...")
	if err != nil {
		return nil, err
	}
	leeway, err := intArg("truncate", "leeway", p[3], 5)
	if err != nil {
		return nil, err
	}
	if int64(utf8.RuneCountInString(s)) <= n+leeway {
		return s, nil
	}
	keep := n - int64(utf8.RuneCountInString(end))
	if keep < 0 {
		return nil, fail("truncate: length %d is shorter than its end", n)
	}
	cut := string([]rune(s)[:keep])
	if !boolArg(p[1], false) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return cut + end, r.spend(5 * len(s))
}

func toInt(_ *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("int", "default", "base")
	if err != nil {
		return nil, err
	}
	base, err := intArg("int", "base", p[1], 10)
	if err != nil {
		return nil, err
	}
	otherwise := p[0]
	if !given(otherwise) {
		otherwise = int64(0)
	}
	i, f, isInt, ok := numeric(v)
	if s, isText := v.(string); isText {
		s = strings.ReplaceAll(strings.TrimFunc(s, isSpace), "_", "")
		digits := s
		if p := map[int64]string{2: "0b", 8: "0o", 16: "0x"}[base]; p != "" {
			digits = strings.TrimPrefix(strings.ToLower(s), p)
		}
		if n, err := strconv.ParseInt(digits, int(base), 64); err == nil {
			return n, nil
		}
		if f, err = strconv.ParseFloat(s, 64); err != nil {
			return otherwise, nil
		}
		ok, isInt = true, false
	}
	switch {
	case !ok, !isInt && (f != f || math.Abs(f) >= 1<<63):
		return otherwise, nil
	case isInt:
		return i, nil
	}
	return int64(f), nil
}

func toFloat(_ *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("float", "default")
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimFunc(s, isSpace), 64); err == nil {
			return f, nil
		}
	} else if i, f, isInt, ok := numeric(v); ok {
		if isInt {
			f = float64(i)
		}
		return f, nil
	}
	if given(p[0]) {
		return p[0], nil
	}
	return 0.0, nil
}

func round(_ *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("round", "precision", "method")
	if err != nil {
		return nil, err
	}
	n, err := intArg("round", "precision", p[0], 0)
	if err != nil {
		return nil, err
	}
	how, err := textArg("round", "method", p[1], "common")
	if err != nil {
		return nil, err
	}
	i, f, isInt, ok := numeric(v)
	switch {
	case !ok:
		return nil, fail("round: a number is required, not %s", typeName(v))
	case isInt && how == "common" && n >= 0:
		return i, nil
	case isInt && how == "common":
		if n < -18 {
			return int64(0), nil
		}
		scale := int64(math.Pow10(int(-n)))
		low := i - ((i%scale)+scale)%scale
		switch twice := 2 * uint64(i-low); {
		case twice > uint64(scale), twice == uint64(scale) && low/scale%2 != 0: // half to even
			low += scale
		}
		return low, nil
	case isInt:
		f = float64(i)
	}
	if n < -300 || n > 300 {
		return nil, fail("round: precision %d is out of range", n)
	}
	scale := math.Pow(10, float64(n))
	switch how {
	case "common": // half to even on the decimal digits, as Python rounds
		if n >= 0 {
			f, err = strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(n), 64), 64)
			return f, err
		}
		return math.RoundToEven(f*scale) / scale, nil
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return nil, fail("round: method must be common, ceil or floor")
}

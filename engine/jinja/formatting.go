package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// format is str.format with plain fields: {}, {0}, {name}. Format specifications are refused.
func format(r *run, s string, a arguments) (Value, error) {
	var b strings.Builder
	auto := 0
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		c := s[i]
		s = s[i+1:]
		if s != "" && s[0] == c {
			b.WriteByte(c)
			s = s[1:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if c == '}' || end < 0 {
			return nil, fail("format: single '%c' in the format string", c)
		}
		field := s[:end]
		s = s[end+1:]
		v, err := formatField(a, field, &auto)
		if err != nil {
			return nil, err
		}
		text, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.spend(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func formatField(a arguments, field string, auto *int) (Value, error) {
	if field == "" {
		field = strconv.Itoa(*auto)
		*auto++
	}
	if n, err := strconv.Atoi(field); err == nil {
		if n < 0 || n >= len(a.pos) {
			return nil, fail("format: no positional argument %d", n)
		}
		return a.pos[n], nil
	}
	for i, k := range a.names {
		if k == field {
			return a.named[i], nil
		}
	}
	return nil, fail("format: unsupported or unknown field %q", field)
}

// percent is Python's "text" % values, for the conversions s r d i x X f F e g %.
func (r *run) percent(s string, values Value) (Value, error) {
	args, isTuple := values.(Tuple)
	if !isTuple {
		args = Tuple{values}
	}
	next := 0
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		n := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("-+ #0123456789.", c) })
		if n < 0 || n > 8 {
			return nil, fail("incomplete format")
		}
		spec, verb := s[:n], s[n]
		s = s[n+1:]
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if next >= len(args) {
			return nil, fail("not enough arguments for format string")
		}
		text, err := r.convert(spec, verb, args[next])
		if err != nil {
			return nil, err
		}
		next++
		if err := r.spend(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if _, isDict := values.(*Dict); next < len(args) && !isDict {
		return nil, fail("not all arguments converted during string formatting")
	}
	return b.String(), nil
}

// maxWidth bounds the widths in formats.
const maxWidth = 1 << 16

func (r *run) convert(spec string, verb byte, v Value) (string, error) {
	for _, part := range strings.FieldsFunc(spec, func(c rune) bool { return c < '0' || c > '9' }) {
		if n, err := strconv.Atoi(part); err != nil || n > maxWidth {
			return "", fail("format width %s is too large", part)
		}
	}
	switch verb {
	case 's':
		text, err := r.str(v)
		return fmt.Sprintf("%"+spec+"s", text), err
	case 'r':
		text, err := r.repr(nil, v, 0)
		return fmt.Sprintf("%"+spec+"s", text), err
	}
	i, f, isInt, ok := numeric(v)
	if !ok {
		return "", fail("%%%c format: a number is required, not %s", verb, typeName(v))
	}
	switch verb {
	case 'd', 'i', 'x', 'X':
		if !isInt {
			i = int64(f)
		}
		if verb == 'i' {
			verb = 'd'
		}
		return fmt.Sprintf("%"+spec+string(verb), i), nil
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if isInt {
			f = float64(i)
		}
		if verb == 'g' && !strings.Contains(spec, ".") {
			spec += ".6"
		}
		return fmt.Sprintf("%"+spec+string(verb), f), nil
	}
	return "", fail("unsupported format character '%c'", verb)
}

package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type stringFunc func(r *run, s string, a arguments) (Value, error)

// stringMethod finds a method of Python's str.
func stringMethod(id string) stringFunc {
	switch id {
	case "upper", "lower", "title", "capitalize", "swapcase", "casefold":
		return func(_ *run, s string, a arguments) (Value, error) {
			_, err := a.bind(id)
			return recase(id, s), err
		}
	case "strip", "lstrip", "rstrip":
		return func(_ *run, s string, a arguments) (Value, error) { return strip(id, s, a) }
	case "split", "rsplit":
		return func(r *run, s string, a arguments) (Value, error) { return split(r, id, s, a) }
	case "splitlines":
		return splitlines
	case "startswith", "endswith":
		return func(_ *run, s string, a arguments) (Value, error) { return affix(id, s, a) }
	case "removeprefix", "removesuffix":
		return func(_ *run, s string, a arguments) (Value, error) {
			p, err := a.bind(id, "affix")
			if err != nil {
				return nil, err
			}
			x, err := textArg(id, "affix", p[0], "")
			if id == "removeprefix" {
				return strings.TrimPrefix(s, x), err
			}
			return strings.TrimSuffix(s, x), err
		}
	case "replace":
		return func(r *run, s string, a arguments) (Value, error) {
			p, err := a.bind(id, "old", "new", "count")
			if err != nil {
				return nil, err
			}
			return replace(r, s, p)
		}
	case "join":
		return func(r *run, s string, a arguments) (Value, error) {
			p, err := a.bind(id, "iterable")
			if err != nil {
				return nil, err
			}
			items, err := r.iterate(p[0])
			if err != nil {
				return nil, err
			}
			for _, v := range items {
				if _, ok := v.(string); !ok {
					return nil, fail("sequence item: expected str instance, %s found", typeName(v))
				}
			}
			return joined(r, items, s)
		}
	case "find", "rfind", "index", "rindex", "count":
		return func(_ *run, s string, a arguments) (Value, error) { return find(id, s, a) }
	case "partition", "rpartition":
		return func(_ *run, s string, a arguments) (Value, error) { return partition(id, s, a) }
	case "zfill", "ljust", "rjust", "center":
		return func(r *run, s string, a arguments) (Value, error) { return pad(r, id, s, a) }
	case "format":
		return format
	}
	if strings.HasPrefix(id, "is") {
		return predicate(id)
	}
	return nil
}

func recase(id, s string) string {
	switch id {
	case "upper":
		return strings.ToUpper(s)
	case "lower", "casefold":
		return strings.ToLower(s)
	case "capitalize":
		_, n := utf8.DecodeRuneInString(s)
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	case "swapcase":
		return strings.Map(func(c rune) rune {
			if unicode.IsUpper(c) {
				return unicode.ToLower(c)
			}
			return unicode.ToUpper(c)
		}, s)
	}
	inside := false // title: a letter behind a letter is small
	return strings.Map(func(c rune) rune {
		was := inside
		inside = unicode.IsLetter(c)
		if was {
			return unicode.ToLower(c)
		}
		return unicode.ToTitle(c)
	}, s)
}

func strip(id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "chars")
	if err != nil {
		return nil, err
	}
	cut := isSpace
	if given(p[0]) && p[0] != nil {
		chars, err := textArg(id, "chars", p[0], "")
		if err != nil {
			return nil, err
		}
		cut = func(c rune) bool { return strings.ContainsRune(chars, c) }
	}
	if id != "rstrip" {
		s = strings.TrimLeftFunc(s, cut)
	}
	if id != "lstrip" {
		s = strings.TrimRightFunc(s, cut)
	}
	return s, nil
}

// split is str.split and str.rsplit: by a separator, or by runs of white space.
func split(r *run, id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "sep", "maxsplit")
	if err != nil {
		return nil, err
	}
	limit, err := intArg(id, "maxsplit", p[1], -1)
	if err != nil {
		return nil, err
	}
	if limit < 0 {
		limit = int64(len(s)) + 1
	}
	var parts []string
	if given(p[0]) && p[0] != nil {
		sep, err := textArg(id, "sep", p[0], "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, fail("%s: empty separator", id)
		}
		if id == "split" {
			parts = strings.SplitN(s, sep, int(limit)+1)
		} else {
			for ; limit > 0; limit-- {
				i := strings.LastIndex(s, sep)
				if i < 0 {
					break
				}
				parts = append(parts, s[i+len(sep):])
				s = s[:i]
			}
			parts = backwards(append(parts, s))
		}
	} else {
		parts = fields(s, int(limit), id == "rsplit")
	}
	out := make(List, len(parts))
	for i, x := range parts {
		out[i] = x
	}
	return out, r.spend(32 * len(out))
}

// fields splits at runs of white space, at most limit times, from the right if asked.
func fields(s string, limit int, right bool) []string {
	var out []string
	if right {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; s = strings.TrimRightFunc(s, isSpace) {
			i := strings.LastIndexFunc(s, isSpace)
			if i < 0 || limit == 0 {
				out = append(out, s)
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			out = append(out, s[i+n:])
			s = s[:i]
			limit--
		}
		return backwards(out)
	}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || limit == 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i:]
		limit--
	}
	return out
}

func backwards(s []string) []string {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
	return s
}

func splitlines(r *run, s string, a arguments) (Value, error) {
	p, err := a.bind("splitlines", "keepends")
	if err != nil {
		return nil, err
	}
	out := List{}
	for s != "" {
		i := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if i < 0 {
			out = append(out, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		if boolArg(p[0], false) {
			out = append(out, s[:i+n])
		} else {
			out = append(out, s[:i])
		}
		s = s[i+n:]
	}
	return out, r.spend(32 * len(out))
}

// affix is startswith and endswith; the affix may be a tuple of which one must fit.
func affix(id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "affix", "start", "end")
	if err != nil {
		return nil, err
	}
	if given(p[1]) || given(p[2]) {
		var parts [3]Value
		for i := range 2 {
			if given(p[i+1]) {
				parts[i] = p[i+1]
			}
		}
		runes := []rune(s)
		at, err := span(parts, len(runes))
		if err != nil {
			return nil, err
		}
		s = string(runes[at.from : at.from+at.count])
	}
	fits := strings.HasPrefix
	if id == "endswith" {
		fits = strings.HasSuffix
	}
	switch x := p[0].(type) {
	case string:
		return fits(s, x), nil
	case Tuple:
		for _, v := range x {
			y, err := textArg(id, "affix", v, "")
			if err != nil {
				return nil, err
			}
			if fits(s, y) {
				return true, nil
			}
		}
		return false, nil
	}
	return nil, fail("%s first arg must be str or a tuple of str, not %s", id, typeName(p[0]))
}

// replace is str.replace(old, new, count).
func replace(r *run, s string, p []Value) (Value, error) {
	for i, param := range []string{"old", "new"} {
		if err := needArg("replace", param, p[i]); err != nil {
			return nil, err
		}
	}
	old, err := textArg("replace", "old", p[0], "")
	if err != nil {
		return nil, err
	}
	with, err := textArg("replace", "new", p[1], "")
	if err != nil {
		return nil, err
	}
	if len(p) > 2 && p[2] == nil {
		p[2] = missing{}
	}
	count, err := intArg("replace", "count", p[2], -1)
	if err != nil {
		return nil, err
	}
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, int(count))
	}
	if err := r.repeat(len(with), int64(n)); err != nil {
		return nil, err
	}
	return strings.Replace(s, old, with, n), r.spend(len(s))
}

// joined joins the str() of items.
func joined(r *run, items List, sep string) (Value, error) {
	if err := r.repeat(len(sep), int64(len(items))); err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, v := range items {
		if i > 0 {
			b.WriteString(sep)
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.spend(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
	}
	return b.String(), r.step()
}

func find(id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "sub")
	if err != nil {
		return nil, err
	}
	if err := needArg(id, "sub", p[0]); err != nil {
		return nil, err
	}
	sub, err := textArg(id, "sub", p[0], "")
	if err != nil {
		return nil, err
	}
	var i int
	switch id {
	case "count":
		return int64(strings.Count(s, sub)), nil
	case "find", "index":
		i = strings.Index(s, sub)
	default:
		i = strings.LastIndex(s, sub)
	}
	if i < 0 {
		if id == "index" || id == "rindex" {
			return nil, fail("%s: substring not found", id)
		}
		return int64(-1), nil
	}
	return int64(utf8.RuneCountInString(s[:i])), nil
}

func partition(id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "sep")
	if err != nil {
		return nil, err
	}
	sep, err := textArg(id, "sep", p[0], "")
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, fail("%s: empty separator", id)
	}
	if id == "partition" {
		if i := strings.Index(s, sep); i >= 0 {
			return Tuple{s[:i], sep, s[i+len(sep):]}, nil
		}
		return Tuple{s, "", ""}, nil
	}
	if i := strings.LastIndex(s, sep); i >= 0 {
		return Tuple{s[:i], sep, s[i+len(sep):]}, nil
	}
	return Tuple{"", "", s}, nil
}

func pad(r *run, id, s string, a arguments) (Value, error) {
	p, err := a.bind(id, "width", "fillchar")
	if err != nil {
		return nil, err
	}
	width, err := intArg(id, "width", p[0], 0)
	if err != nil {
		return nil, err
	}
	fill, err := textArg(id, "fillchar", p[1], " ")
	if err != nil {
		return nil, err
	}
	if id == "zfill" {
		fill = "0"
	}
	if utf8.RuneCountInString(fill) != 1 {
		return nil, fail("%s: the fill character must be exactly one character long", id)
	}
	n := width - int64(utf8.RuneCountInString(s))
	if n <= 0 {
		return s, nil
	}
	if err := r.repeat(len(fill), n); err != nil {
		return nil, err
	}
	switch id {
	case "ljust":
		return s + strings.Repeat(fill, int(n)), nil
	case "rjust":
		return strings.Repeat(fill, int(n)) + s, nil
	case "center":
		left := n/2 + n&width&1
		return strings.Repeat(fill, int(left)) + s + strings.Repeat(fill, int(n-left)), nil
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[:1] + strings.Repeat(fill, int(n)) + s[1:], nil
	}
	return strings.Repeat(fill, int(n)) + s, nil
}

// predicate is one of the is... methods: true if there is a character and all fit.
func predicate(id string) stringFunc {
	var fits func(rune) bool
	switch id {
	case "isdigit", "isdecimal":
		fits = unicode.IsDigit
	case "isnumeric":
		fits = unicode.IsNumber
	case "isalpha":
		fits = unicode.IsLetter
	case "isalnum":
		fits = func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }
	case "isspace":
		fits = isSpace
	case "isascii":
		fits = func(c rune) bool { return c < utf8.RuneSelf }
	case "islower", "isupper":
		return func(_ *run, s string, a arguments) (Value, error) {
			_, err := a.bind(id)
			same := s == strings.ToLower(s)
			if id == "isupper" {
				same = s == strings.ToUpper(s)
			}
			return same && strings.ToLower(s) != strings.ToUpper(s), err
		}
	default:
		return nil
	}
	return func(_ *run, s string, a arguments) (Value, error) {
		_, err := a.bind(id)
		return (s != "" || id == "isascii") && strings.IndexFunc(s, func(c rune) bool { return !fits(c) }) < 0, err
	}
}

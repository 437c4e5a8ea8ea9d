package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// number emits an integer or a float. Digits may be grouped with '_'. A float cannot follow a '.', so that a.0.1 is two subscripts.
func (l *lexer) number() error {
	s, from := l.src, l.pos
	digits := func(i int, ok func(byte) bool) int {
		for i < len(s) && (ok(s[i]) || s[i] == '_' && i+1 < len(s) && ok(s[i+1])) {
			i++
		}
		return i
	}
	decimal := func(c byte) bool { return c >= '0' && c <= '9' }
	if s[from] == '0' && from+1 < len(s) && strings.ContainsRune("xXoObB", rune(s[from+1])) {
		end := digits(from+2, func(c byte) bool { return decimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' })
		l.emit(tokInt, s[from:end], from)
		l.pos = end
		return nil
	}
	end := digits(from, decimal)
	float := false
	if from == 0 || s[from-1] != '.' {
		if end+1 < len(s) && s[end] == '.' && decimal(s[end+1]) {
			float = true
			end = digits(end+1, decimal)
		}
		if end < len(s) && s[end]|0x20 == 'e' {
			i := end + 1
			if i < len(s) && (s[i] == '+' || s[i] == '-') {
				i++
			}
			if i < len(s) && decimal(s[i]) {
				float = true
				end = digits(i, decimal)
			}
		}
	}
	k := tokInt
	if float {
		k = tokFloat
	} else if end-from > 1 && s[from] == '0' && strings.Trim(s[from:end], "0_") != "" {
		return failAt(l.at(from), "integer %s begins with 0", s[from:end])
	}
	l.emit(k, strings.ReplaceAll(s[from:end], "_", ""), from)
	l.pos = end
	return nil
}

// quoted emits a string with Python's escapes decoded.
func (l *lexer) quoted(quote byte) error {
	from := l.pos
	end := from + 1
	for end < len(l.src) && l.src[end] != quote {
		if l.src[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(l.src) {
		return failAt(l.at(from), "string without end")
	}
	text, err := unescape(l.src[from+1 : end])
	if err != nil {
		return at(l.at(from), err)
	}
	l.emit(tokString, text, from)
	l.pos = end + 1
	return nil
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1]
		i += 2
		if j := strings.IndexByte(`\'"abfnrtv`, c); j >= 0 {
			b.WriteByte("\\'\"\a\b\f\n\r\t\v"[j])
			continue
		}
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		switch {
		case c == '\n': // a continued line
		case width > 0:
			if i+width > len(s) {
				return "", fail(`\%c escape cut short`, c)
			}
			n, err := strconv.ParseUint(s[i:i+width], 16, 32)
			if err != nil || n > utf8.MaxRune {
				return "", fail(`bad \%c escape %q`, c, s[i:i+width])
			}
			b.WriteRune(rune(n))
			i += width
		case c >= '0' && c <= '7':
			end := i
			for end < len(s) && end < i+2 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			n, err := strconv.ParseUint(s[i-1:end], 8, 32)
			if err != nil {
				return "", fail("bad octal escape %q", s[i-1:end])
			}
			b.WriteRune(rune(n))
			i = end
		case c == 'N':
			return "", fail(`unsupported escape \N`)
		default: // unknown escapes stay as written
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

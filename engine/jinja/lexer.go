package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	tokData     kind = iota // text between tags
	tokBlock                // {%
	tokBlockEnd             // %}
	tokVar                  // {{
	tokVarEnd               // }}
	tokName
	tokInt
	tokFloat
	tokString
	tokOp
	tokEOF
)

type token struct {
	kind kind
	text string // operators and names as written; strings and data decoded
	line int
}

// maxTemplate bounds the source: chat templates have a few kilobytes.
const maxTemplate = 4 << 20

// lexer cuts a template into tokens with trim_blocks and lstrip_blocks: the line end behind a block or comment tag goes, and so
// does white space between a line's start and such a tag.
type lexer struct {
	src    string
	pos    int
	line   int
	seen   int  // src[:seen] is counted in line
	starts bool // the last tag took a line end with it
	out    []token
}

func lex(src string) ([]token, error) {
	if len(src) > maxTemplate {
		return nil, failAt(0, "template of %d bytes, limit %d", len(src), maxTemplate)
	}
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	src = strings.TrimSuffix(src, "\n") // keep_trailing_newline is off
	l := &lexer{src: src, line: 1, starts: true}
	for l.pos < len(src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	l.emit(tokEOF, "", len(src))
	return l.out, nil
}

// at is the line of a byte offset; offsets come in ascending order.
func (l *lexer) at(pos int) int {
	if pos > l.seen {
		l.line += strings.Count(l.src[l.seen:pos], "\n")
		l.seen = pos
	}
	return l.line
}

func (l *lexer) emit(k kind, text string, pos int) {
	l.out = append(l.out, token{k, text, l.at(pos)})
}

// opening finds the next tag from pos.
func (l *lexer) opening() int {
	for i := l.pos; ; i++ {
		j := strings.IndexByte(l.src[i:], '{')
		if j < 0 || i+j+1 >= len(l.src) {
			return -1
		}
		i += j
		switch l.src[i+1] {
		case '{', '%', '#':
			return i
		}
	}
}

// data emits text before a tag, cut as the tag's sign and lstrip_blocks ask.
func (l *lexer) data(text string, sign byte, variable bool) {
	from := l.pos
	switch {
	case sign == '-':
		text = strings.TrimRightFunc(text, isSpace)
	case sign != '+' && !variable:
		start := strings.LastIndexByte(text, '\n') + 1
		if (start > 0 || l.starts) && strings.TrimLeftFunc(text[start:], isSpace) == "" {
			text = text[:start]
		}
	}
	if text != "" {
		l.emit(tokData, text, from)
	}
}

// sign is the '-' or '+' at pos, 0 if neither.
func (l *lexer) sign(pos int) byte {
	if pos < len(l.src) && (l.src[pos] == '-' || l.src[pos] == '+') {
		return l.src[pos]
	}
	return 0
}

func (l *lexer) root() error {
	i := l.opening()
	if i < 0 {
		l.emit(tokData, l.src[l.pos:], l.pos)
		l.pos = len(l.src)
		return nil
	}
	sign := l.sign(i + 2)
	what := l.src[i+1]
	l.data(l.src[l.pos:i], sign, what == '{')
	body := i + 2
	if sign != 0 {
		body++
	}
	switch what {
	case '#':
		return l.comment(i, body)
	case '{':
		l.emit(tokVar, "", i)
		l.pos = body
		return l.inside(i, tokVarEnd)
	}
	if after, ok := l.keyword(body, "raw"); ok {
		return l.raw(i, after)
	}
	l.emit(tokBlock, "", i)
	l.pos = body
	return l.inside(i, tokBlockEnd)
}

// closeTag looks for the end of a tag at pos: [+-]? and end. Behind '-' all white space goes, behind a plain block or comment end one
// line end (trim). It gives the position behind all that.
func (l *lexer) closeTag(pos int, end string, trim bool) (int, bool) {
	sign := l.sign(pos)
	if sign == '+' && !trim {
		sign = 0 // "+}}" is an operator and an end
	}
	i := pos
	if sign != 0 {
		i++
	}
	if !strings.HasPrefix(l.src[i:], end) {
		return 0, false
	}
	i += len(end)
	switch {
	case sign == '-':
		i += len(l.src[i:]) - len(strings.TrimLeftFunc(l.src[i:], isSpace))
	case sign == 0 && trim && strings.HasPrefix(l.src[i:], "\n"):
		i++
	}
	return i, true
}

// finish moves behind a tag.
func (l *lexer) finish(pos int) {
	l.starts = l.src[pos-1] == '\n'
	l.pos = pos
}

func (l *lexer) comment(start, body int) error {
	j := strings.Index(l.src[body:], "#}")
	if j < 0 {
		return failAt(l.at(start), "comment without end")
	}
	end := body + j
	if j > 0 && l.sign(end-1) != 0 {
		end--
	}
	next, ok := l.closeTag(end, "#}", true)
	if !ok {
		return failAt(l.at(start), "comment without end")
	}
	l.finish(next)
	return nil
}

// keyword matches a tag that consists of one word, from behind its opening; it gives the position behind the tag, whose line end
// stays.
func (l *lexer) keyword(pos int, word string) (int, bool) {
	rest := strings.TrimLeftFunc(l.src[pos:], isSpace)
	if !strings.HasPrefix(rest, word) {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest[len(word):], isSpace)
	pos = len(l.src) - len(rest)
	if l.sign(pos) == '+' {
		return 0, false
	}
	return l.closeTag(pos, "%}", false)
}

// raw emits everything up to the endraw tag as it is.
func (l *lexer) raw(start, body int) error {
	l.starts = l.src[body-1] == '\n'
	l.pos = body
	for i := body; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			return failAt(l.at(start), "raw block without endraw")
		}
		i += j
		sign := l.sign(i + 2)
		at := i + 2
		if sign != 0 {
			at++
		}
		rest := strings.TrimLeftFunc(l.src[at:], isSpace)
		if !strings.HasPrefix(rest, "endraw") {
			continue
		}
		rest = strings.TrimLeftFunc(rest[len("endraw"):], isSpace)
		next, ok := l.closeTag(len(l.src)-len(rest), "%}", true)
		if !ok {
			continue
		}
		l.data(l.src[l.pos:i], sign, false)
		l.finish(next)
		return nil
	}
}

// operators, longest first.
var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// inside emits the tokens of one tag up to its end. Within brackets "}}" and "%}" are brackets, not ends.
func (l *lexer) inside(start int, end kind) error {
	text, trim := "%}", true
	if end == tokVarEnd {
		text, trim = "}}", false
	}
	var open []byte
	for {
		l.pos += len(l.src[l.pos:]) - len(strings.TrimLeftFunc(l.src[l.pos:], isSpace))
		if l.pos >= len(l.src) {
			return failAt(l.at(start), "tag without end, want %q", text)
		}
		if len(open) == 0 {
			if next, ok := l.closeTag(l.pos, text, trim); ok {
				l.emit(end, "", l.pos)
				l.finish(next)
				return nil
			}
		}
		c := l.src[l.pos]
		r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
		switch {
		case c == '\'' || c == '"':
			if err := l.quoted(c); err != nil {
				return err
			}
		case c >= '0' && c <= '9':
			if err := l.number(); err != nil {
				return err
			}
		case c == '_' || unicode.IsLetter(r):
			n := strings.IndexFunc(l.src[l.pos:], func(r rune) bool {
				return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
			})
			if n < 0 {
				n = len(l.src) - l.pos
			}
			l.emit(tokName, l.src[l.pos:l.pos+n], l.pos)
			l.pos += n
		default:
			op := l.operator()
			if op == "" {
				return failAt(l.at(l.pos), "unexpected character %q", r)
			}
			switch op {
			case "(", "[", "{":
				open = append(open, op[0])
			case ")", "]", "}":
				want := map[string]byte{")": '(', "]": '[', "}": '{'}[op]
				if len(open) == 0 || open[len(open)-1] != want {
					return failAt(l.at(l.pos), "unexpected %q", op)
				}
				open = open[:len(open)-1]
			}
			l.emit(tokOp, op, l.pos)
			l.pos += len(op)
		}
	}
}

func (l *lexer) operator() string {
	for _, op := range operators {
		if strings.HasPrefix(l.src[l.pos:], op) {
			return op
		}
	}
	return ""
}

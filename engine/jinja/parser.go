package jinja

import "slices"

// Template is a parsed template. It is immutable and safe for concurrent rendering.
type Template struct{ body block }

// parser turns tokens into a tree.
type parser struct {
	toks  []token
	pos   int
	depth int
	loops int             // nested loops around this place, for break and continue
	used  map[string]bool // names read in the macro being parsed
}

// Parse reads a template. Errors are *Error with the line; anything unknown is an error.
func Parse(src string) (*Template, error) {
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, used: map[string]bool{}}
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEOF {
		return nil, failAt(t.line, "unexpected tag %q", t.text)
	}
	return &Template{body}, nil
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

// is tells whether the next token is the operator or keyword.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == tokOp || t.kind == tokName) && t.text == text
}

// take consumes the operator or keyword if it is next.
func (p *parser) take(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(text string) error {
	if p.take(text) {
		return nil
	}
	return p.unexpected("%q", text)
}

// unexpected is the error of a token that does not fit.
func (p *parser) unexpected(format string, args ...any) error {
	t := p.peek()
	got := t.text
	switch t.kind {
	case tokEOF:
		got = "end of template"
	case tokBlockEnd:
		got = "%}"
	case tokVarEnd:
		got = "}}"
	case tokString:
		got = "string"
	}
	return failAt(t.line, "unexpected %q, want "+format, append([]any{got}, args...)...)
}

func (p *parser) ident() (string, error) {
	t := p.peek()
	if t.kind != tokName {
		return "", p.unexpected("a name")
	}
	p.pos++
	return t.text, nil
}

func (p *parser) blockEnd() error {
	if p.peek().kind != tokBlockEnd {
		return p.unexpected("the end of the tag")
	}
	p.pos++
	return nil
}

// enter guards against nesting that would exhaust the stack; the caller defers leave.
func (p *parser) enter() error {
	p.depth++
	if p.depth > maxNesting {
		return at(p.peek().line, overLimit("nesting of the template", maxNesting))
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// body parses up to the end of the template or to a tag named in ends, whose opening and name are consumed. (The name of the tag
// met is the last token consumed.)
func (p *parser) body(ends ...string) (block, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var out block
	for {
		t := p.next()
		switch t.kind {
		case tokEOF:
			if len(ends) > 0 {
				return nil, failAt(t.line, "template ends inside a block, want {%% %s %%}", ends[len(ends)-1])
			}
			return out, nil
		case tokData:
			out = append(out, data{t.text})
		case tokVar:
			x, err := p.tuple(true)
			if err != nil {
				return nil, err
			}
			if p.peek().kind != tokVarEnd {
				return nil, p.unexpected("}}")
			}
			p.pos++
			out = append(out, &print{t.line, x})
		case tokBlock:
			tag := p.peek()
			if tag.kind != tokName {
				return nil, p.unexpected("a tag name")
			}
			p.pos++
			if slices.Contains(ends, tag.text) {
				return out, nil
			}
			s, err := p.tag(tag)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		default:
			return nil, failAt(t.line, "unexpected %q", t.text)
		}
	}
}

// met is the name of the end tag that body stopped at.
func (p *parser) met() string { return p.toks[p.pos-1].text }

// closed parses a body and the rest of its end tag.
func (p *parser) closed(end string) (block, error) {
	b, err := p.body(end)
	if err != nil {
		return nil, err
	}
	return b, p.blockEnd()
}

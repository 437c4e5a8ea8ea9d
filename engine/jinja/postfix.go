package jinja

import "strconv"

// postfix parses subscripts, attributes and calls behind x.
func (p *parser) postfix(x expr) (expr, error) {
	for {
		t := p.peek()
		if t.kind != tokOp {
			return x, nil
		}
		var err error
		switch t.text {
		case ".":
			p.pos++
			x, err = p.dot(x, t.line)
		case "[":
			p.pos++
			x, err = p.subscript(x, t.line)
		case "(":
			p.pos++
			x, err = p.called(x, t.line)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// dot parses what follows a point: a name, or a number as an index.
func (p *parser) dot(x expr, line int) (expr, error) {
	t := p.peek()
	switch t.kind {
	case tokName:
		p.pos++
		return &attr{line, x, t.text}, nil
	case tokInt:
		p.pos++
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, failAt(t.line, "bad index %s", t.text)
		}
		return &item{line, x, constant{n}}, nil
	}
	return nil, p.unexpected("an attribute")
}

// subscript parses an index, several (a tuple), or a slice.
func (p *parser) subscript(x expr, line int) (expr, error) {
	var parts [3]expr
	n := 0
	for {
		if !p.is(":") && !p.is("]") {
			var err error
			if n == 0 {
				parts[n], err = p.tuple(true)
			} else {
				parts[n], err = p.expression()
			}
			if err != nil {
				return nil, err
			}
		}
		if p.take("]") {
			break
		}
		if err := p.want(":"); err != nil {
			return nil, err
		}
		if n++; n == 3 {
			return nil, failAt(line, "slice with more than three parts")
		}
	}
	if n == 0 {
		if parts[0] == nil {
			return nil, failAt(line, "empty subscript")
		}
		return &item{line, x, parts[0]}, nil
	}
	return &slice{line, x, parts[0], parts[1], parts[2]}, nil
}

// called parses a call of x behind the opening bracket.
func (p *parser) called(x expr, line int) (expr, error) {
	args, err := p.arguments()
	return &call{line, x, args}, err
}

// arguments parses a call's arguments behind the opening bracket.
func (p *parser) arguments() (callArgs, error) {
	var a callArgs
	for n := 0; !p.take(")"); n++ {
		if n > 0 {
			if err := p.want(","); err != nil {
				return a, err
			}
			if p.take(")") {
				break
			}
		}
		if p.is("*") || p.is("**") {
			return a, failAt(p.peek().line, "unsupported argument unpacking with %q", p.peek().text)
		}
		if t, eq := p.peek(), p.toks[p.pos+1]; t.kind == tokName && eq.kind == tokOp && eq.text == "=" {
			p.pos += 2
			x, err := p.expression()
			if err != nil {
				return a, err
			}
			a.names, a.named = append(a.names, t.text), append(a.named, x)
			continue
		}
		if len(a.names) > 0 {
			return a, failAt(p.peek().line, "positional argument after a named one")
		}
		x, err := p.expression()
		if err != nil {
			return a, err
		}
		a.pos = append(a.pos, x)
	}
	return a, nil
}

// piped parses the filters, tests and calls behind x.
func (p *parser) piped(x expr) (expr, error) {
	for {
		var err error
		switch t := p.peek(); {
		case p.take("|"):
			var f *filter
			f, err = p.filter()
			if err == nil {
				f.of = x
				x = f
			}
		case t.kind == tokName && p.take("is"):
			x, err = p.test(x)
		case t.kind == tokOp && p.take("("):
			x, err = p.called(x, t.line)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filters parses one filter or more with bars between.
func (p *parser) filters() ([]*filter, error) {
	var out []*filter
	for {
		f, err := p.filter()
		if err != nil {
			return nil, err
		}
		out = append(out, f)
		if !p.take("|") {
			return out, nil
		}
	}
}

func (p *parser) filter() (*filter, error) {
	line := p.peek().line
	id, err := p.ident()
	if err != nil {
		return nil, err
	}
	fn := filterNamed(id)
	if fn == nil {
		return nil, failAt(line, "unknown filter %q", id)
	}
	f := &filter{line: line, name: id, fn: fn}
	if p.take("(") {
		f.args, err = p.arguments()
	}
	return f, err
}

// test parses what follows "is": an optional not, the test's name, and arguments in brackets or one operand without.
func (p *parser) test(x expr) (expr, error) {
	line := p.peek().line
	out := &test{line: line, of: x, negate: p.take("not")}
	var err error
	if out.name, err = p.ident(); err != nil {
		return nil, err
	}
	if out.fn = testNamed(out.name); out.fn == nil {
		return nil, failAt(line, "unknown test %q", out.name)
	}
	t := p.peek()
	switch {
	case p.take("("):
		out.args, err = p.arguments()
	case t.kind == tokString, t.kind == tokInt, t.kind == tokFloat, t.kind == tokOp && (t.text == "[" || t.text == "{"),
		t.kind == tokName && !reserved[t.text] && t.text != "recursive",
		t.kind == tokName && (constantName(t.text)):
		var arg expr
		if arg, err = p.primary(); err == nil {
			if arg, err = p.postfix(arg); err == nil {
				out.args.pos = []expr{arg}
			}
		}
	}
	return out, err
}

func constantName(s string) bool {
	switch s {
	case "true", "false", "none", "True", "False", "None":
		return true
	}
	return false
}

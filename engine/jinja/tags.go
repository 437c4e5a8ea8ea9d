package jinja

// tag parses the statement of a tag whose name has been consumed.
func (p *parser) tag(t token) (stmt, error) {
	switch t.text {
	case "if":
		return p.ifTag(t.line)
	case "for":
		return p.forTag(t.line)
	case "set":
		return p.setTag(t.line)
	case "macro":
		return p.macroTag(t.line)
	case "with":
		return p.withTag(t.line)
	case "filter":
		filters, err := p.filters()
		if err != nil {
			return nil, err
		}
		if err := p.blockEnd(); err != nil {
			return nil, err
		}
		body, err := p.closed("endfilter")
		return &filterStmt{t.line, filters, body}, err
	case "generation":
		if err := p.blockEnd(); err != nil {
			return nil, err
		}
		body, err := p.closed("endgeneration")
		return &scoped{body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, failAt(t.line, "%s outside of a loop", t.text)
		}
		to := signalBreak
		if t.text == "continue" {
			to = signalContinue
		}
		return jump{to}, p.blockEnd()
	case "block", "extends", "include", "import", "from", "call", "autoescape", "trans", "do", "debug":
		return nil, failAt(t.line, "unsupported tag %q", t.text)
	}
	return nil, failAt(t.line, "unknown tag %q", t.text)
}

func (p *parser) ifTag(line int) (stmt, error) {
	out := &ifStmt{line: line}
	for {
		cond, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		if err := p.blockEnd(); err != nil {
			return nil, err
		}
		body, err := p.body("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		out.conds = append(out.conds, cond)
		out.then = append(out.then, body)
		switch p.met() {
		case "elif":
			continue
		case "else":
			if err := p.blockEnd(); err != nil {
				return nil, err
			}
			out.other, err = p.closed("endif")
			return out, err
		}
		return out, p.blockEnd()
	}
}

func (p *parser) forTag(line int) (stmt, error) {
	out := &forStmt{line: line}
	var err error
	if out.target, err = p.target(false); err != nil {
		return nil, err
	}
	if err := p.want("in"); err != nil {
		return nil, err
	}
	if out.in, err = p.tuple(false); err != nil {
		return nil, err
	}
	if p.take("if") {
		if out.cond, err = p.expression(); err != nil {
			return nil, err
		}
	}
	out.recursive = p.take("recursive")
	if err := p.blockEnd(); err != nil {
		return nil, err
	}
	p.loops++
	out.body, err = p.body("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if p.met() == "else" {
		if err := p.blockEnd(); err != nil {
			return nil, err
		}
		out.other, err = p.closed("endfor")
		return out, err
	}
	return out, p.blockEnd()
}

func (p *parser) setTag(line int) (stmt, error) {
	to, err := p.target(true)
	if err != nil {
		return nil, err
	}
	if p.take("=") {
		x, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return &setStmt{line, to, x}, p.blockEnd()
	}
	out := &setBlock{line: line, target: to}
	if p.take("|") {
		if out.filters, err = p.filters(); err != nil {
			return nil, err
		}
	}
	if err := p.blockEnd(); err != nil {
		return nil, err
	}
	out.body, err = p.closed("endset")
	return out, err
}

func (p *parser) macroTag(line int) (stmt, error) {
	out := &macroStmt{line: line}
	var err error
	if out.name, err = p.ident(); err != nil {
		return nil, err
	}
	if err := p.want("("); err != nil {
		return nil, err
	}
	outer, loops := p.used, p.loops
	p.used, p.loops = map[string]bool{}, 0
	seen := map[string]bool{}
	for !p.take(")") {
		if len(out.params) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take(")") {
				break
			}
		}
		param, err := p.ident()
		if err != nil {
			return nil, err
		}
		if seen[param] {
			return nil, failAt(line, "macro %q has the parameter %q twice", out.name, param)
		}
		seen[param] = true
		var def expr
		if p.take("=") {
			if def, err = p.expression(); err != nil {
				return nil, err
			}
		} else if n := len(out.defaults); n > 0 && out.defaults[n-1] != nil {
			return nil, failAt(line, "macro %q: parameter %q without default follows one with", out.name, param)
		}
		out.params = append(out.params, param)
		out.defaults = append(out.defaults, def)
	}
	if err := p.blockEnd(); err != nil {
		return nil, err
	}
	out.body, err = p.closed("endmacro")
	out.catches, out.kwargs = p.used["varargs"], p.used["kwargs"]
	if p.used["caller"] && err == nil {
		err = failAt(line, "unsupported name \"caller\" in macro %q", out.name)
	}
	for k := range p.used {
		outer[k] = true
	}
	p.used, p.loops = outer, loops
	return out, err
}

func (p *parser) withTag(line int) (stmt, error) {
	out := &withStmt{line: line}
	for p.peek().kind != tokBlockEnd {
		if len(out.names) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
		}
		to, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if err := p.want("="); err != nil {
			return nil, err
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.names = append(out.names, to)
		out.vals = append(out.vals, x)
	}
	if err := p.blockEnd(); err != nil {
		return nil, err
	}
	var err error
	out.body, err = p.closed("endwith")
	return out, err
}

// target parses what is assigned to; namespace attributes only where set allows them.
func (p *parser) target(attrs bool) (target, error) {
	first, err := p.oneTarget(attrs)
	if err != nil || !p.is(",") {
		return first, err
	}
	out := target{unpack: []target{first}}
	for p.take(",") {
		if p.is("in") || p.is("=") || p.is(")") {
			break
		}
		t, err := p.oneTarget(attrs)
		if err != nil {
			return out, err
		}
		out.unpack = append(out.unpack, t)
	}
	return out, nil
}

// reserved names cannot be assigned to.
var reserved = map[string]bool{"true": true, "false": true, "none": true, "True": true, "False": true, "None": true,
	"and": true, "or": true, "not": true, "in": true, "is": true, "if": true, "else": true}

func (p *parser) oneTarget(attrs bool) (target, error) {
	if err := p.enter(); err != nil {
		return target{}, err
	}
	defer p.leave()
	line := p.peek().line
	if p.take("(") {
		t, err := p.target(attrs)
		if err != nil {
			return t, err
		}
		return t, p.want(")")
	}
	id, err := p.ident()
	if err != nil {
		return target{}, err
	}
	if reserved[id] || id == "loop" && !attrs {
		return target{}, failAt(line, "cannot assign to %q", id)
	}
	if attrs && p.take(".") {
		a, err := p.ident()
		p.used[id] = true
		return target{name: id, attr: a}, err
	}
	return target{name: id}, nil
}

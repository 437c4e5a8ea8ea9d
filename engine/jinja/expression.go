package jinja

import (
	"math/big"
	"strconv"
	"strings"
)

// tuple parses an expression, or several with commas between, which make a tuple. Without cond an inline if is left alone, as in
// the header of a for.
func (p *parser) tuple(cond bool) (expr, error) {
	one := p.expression
	if !cond {
		one = func() (expr, error) { return p.binary(0) }
	}
	first, err := one()
	if err != nil || !p.is(",") {
		return first, err
	}
	out := &tupleLit{items: []expr{first}}
	for p.take(",") {
		switch t := p.peek(); {
		case t.kind == tokBlockEnd || t.kind == tokVarEnd, t.kind == tokOp && (t.text == ")" || t.text == "]" || t.text == "="):
			return out, nil
		}
		x, err := one()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, x)
	}
	return out, nil
}

// expression parses with inline if.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	for p.take("if") {
		cond, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		c := &choice{cond: cond, yes: x}
		if p.take("else") {
			if c.no, err = p.expression(); err != nil {
				return nil, err
			}
		}
		x = c
	}
	return x, nil
}

// The binding powers of binary operators; "not" binds between and and the comparisons.
const (
	powerOr = iota + 1
	powerAnd
	powerNot
	powerCompare
	powerSum
	powerConcat
	powerProduct
	powerPower
)

// infix is the binding power of the operator that comes next, 0 if none does. "not in" is one operator.
func (p *parser) infix() (op string, power int) {
	t := p.peek()
	if t.kind != tokOp && t.kind != tokName {
		return "", 0
	}
	switch t.text {
	case "or":
		return t.text, powerOr
	case "and":
		return t.text, powerAnd
	case "==", "!=", "<", "<=", ">", ">=", "in":
		return t.text, powerCompare
	case "not":
		if n := p.toks[p.pos+1]; n.kind == tokName && n.text == "in" {
			return "not in", powerCompare
		}
	case "+", "-":
		return t.text, powerSum
	case "~":
		return t.text, powerConcat
	case "*", "/", "//", "%":
		return t.text, powerProduct
	case "**":
		return t.text, powerPower
	}
	return "", 0
}

// binary parses operators that bind stronger than min (Pratt). All are left-associative; comparisons chain.
func (p *parser) binary(min int) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.prefix(min)
	if err != nil {
		return nil, err
	}
	for {
		op, power := p.infix()
		if power <= min {
			return x, nil
		}
		line := p.next().line
		if op == "not in" {
			p.next()
		}
		y, err := p.binary(power)
		if err != nil {
			return nil, err
		}
		switch power {
		case powerOr, powerAnd:
			x = &logic{and: power == powerAnd, x: x, y: y}
		case powerCompare:
			if c, ok := x.(*compare); ok && !c.closed {
				c.ops, c.ys = append(c.ops, op), append(c.ys, y)
			} else {
				x = &compare{line: line, x: x, ops: []string{op}, ys: []expr{y}}
			}
		default:
			x = &binary{line: line, op: op, x: x, y: y}
		}
	}
}

// prefix parses "not", or an operand.
func (p *parser) prefix(min int) (expr, error) {
	if t := p.peek(); min < powerNot && p.take("not") {
		x, err := p.binary(powerNot - 1)
		return &unary{t.line, "not", x}, err
	}
	return p.unary(true)
}

// unary parses a sign or a primary, then subscripts and calls, then, if filtered, filters and tests: they apply to the signed value.
func (p *parser) unary(filtered bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var x expr
	var err error
	if t := p.peek(); t.kind == tokOp && (t.text == "-" || t.text == "+") {
		p.pos++
		if x, err = p.unary(false); err != nil {
			return nil, err
		}
		x = &unary{t.line, t.text, x}
	} else if x, err = p.primary(); err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !filtered {
		return x, err
	}
	return p.piped(x)
}

func (p *parser) primary() (expr, error) {
	t := p.peek()
	switch t.kind {
	case tokString:
		var b strings.Builder
		for p.peek().kind == tokString { // strings side by side are one
			b.WriteString(p.next().text)
		}
		return constant{b.String()}, nil
	case tokInt:
		p.pos++
		n, ok := new(big.Int).SetString(t.text, 0)
		if !ok || !n.IsInt64() {
			return nil, failAt(t.line, "integer %s is out of range", t.text)
		}
		return constant{n.Int64()}, nil
	case tokFloat:
		p.pos++
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, failAt(t.line, "float %s is out of range", t.text)
		}
		return constant{f}, nil
	case tokName:
		p.pos++
		switch t.text {
		case "true", "True":
			return constant{true}, nil
		case "false", "False":
			return constant{false}, nil
		case "none", "None":
			return constant{nil}, nil
		}
		if reserved[t.text] {
			p.pos--
			return nil, p.unexpected("an expression")
		}
		p.used[t.text] = true
		return name{t.text}, nil
	case tokOp:
		switch t.text {
		case "(":
			p.pos++
			if p.take(")") {
				return &tupleLit{}, nil
			}
			x, err := p.tuple(true)
			if err != nil {
				return nil, err
			}
			if c, ok := x.(*compare); ok {
				c.closed = true // (a < b) < c is no chain
			}
			return x, p.want(")")
		case "[":
			p.pos++
			items, err := p.items("]")
			return &listLit{items}, err
		case "{":
			return p.dict()
		}
	}
	return nil, p.unexpected("an expression")
}

// items parses expressions with commas between, up to the closing bracket.
func (p *parser) items(end string) ([]expr, error) {
	var out []expr
	for !p.take(end) {
		if len(out) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take(end) {
				break
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (p *parser) dict() (expr, error) {
	out := &dictLit{line: p.next().line}
	for !p.take("}") {
		if len(out.keys) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take("}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.want(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.keys, out.vals = append(out.keys, k), append(out.vals, v)
	}
	return out, nil
}

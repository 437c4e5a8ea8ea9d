package jinja

import "fmt"

func (c constant) eval(*run, *scope) (Value, error) { return c.v, nil }

func (n name) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if v, ok := s.get(n.id); ok {
		return v, nil
	}
	if v := global(n.id); v != nil {
		return v, nil
	}
	return Undefined{fmt.Sprintf("'%s' is undefined", n.id)}, nil
}

func evalAll(r *run, s *scope, xs []expr) (List, error) {
	if err := r.spend(16 * len(xs)); err != nil {
		return nil, err
	}
	out := make(List, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = x.eval(r, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (l *listLit) eval(r *run, s *scope) (Value, error) { return evalAll(r, s, l.items) }

func (l *tupleLit) eval(r *run, s *scope) (Value, error) {
	items, err := evalAll(r, s, l.items)
	return Tuple(items), err
}

func (d *dictLit) eval(r *run, s *scope) (Value, error) {
	if err := r.spend(64 * len(d.keys)); err != nil {
		return nil, err
	}
	out := NewDict()
	for i := range d.keys {
		k, err := d.keys[i].eval(r, s)
		if err != nil {
			return nil, err
		}
		v, err := d.vals[i].eval(r, s)
		if err != nil {
			return nil, err
		}
		if err := out.Set(k, v); err != nil {
			return nil, at(d.line, err)
		}
	}
	return out, nil
}

func (c *choice) eval(r *run, s *scope) (Value, error) {
	v, err := c.cond.eval(r, s)
	switch {
	case err != nil:
		return nil, err
	case truthy(v):
		return c.yes.eval(r, s)
	case c.no != nil:
		return c.no.eval(r, s)
	}
	return Undefined{"the inline if has no else"}, nil
}

func (l *logic) eval(r *run, s *scope) (Value, error) {
	v, err := l.x.eval(r, s)
	if err != nil || truthy(v) != l.and {
		return v, err
	}
	return l.y.eval(r, s)
}

func (u *unary) eval(r *run, s *scope) (Value, error) {
	v, err := u.x.eval(r, s)
	if err != nil {
		return nil, err
	}
	if u.op == "not" {
		return !truthy(v), nil
	}
	out, err := sign(u.op, v)
	return out, at(u.line, err)
}

func (b *binary) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	x, err := b.x.eval(r, s)
	if err != nil {
		return nil, err
	}
	y, err := b.y.eval(r, s)
	if err != nil {
		return nil, err
	}
	v, err := r.arith(b.op, x, y)
	return v, at(b.line, err)
}

func (c *compare) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	x, err := c.x.eval(r, s)
	if err != nil {
		return nil, err
	}
	for i, op := range c.ops {
		y, err := c.ys[i].eval(r, s)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, x, y)
		if err != nil || !ok {
			return false, at(c.line, err)
		}
		x = y
	}
	return true, nil
}

// arguments are the values of a call.
type arguments struct {
	pos   []Value
	names []string
	named []Value
}

func (a callArgs) eval(r *run, s *scope) (arguments, error) {
	out := arguments{names: a.names}
	var err error
	if len(a.pos) > 0 {
		if out.pos, err = evalAll(r, s, a.pos); err != nil {
			return out, err
		}
	}
	if len(a.named) > 0 {
		out.named, err = evalAll(r, s, a.named)
	}
	return out, err
}

// bind lays the arguments out by parameter name; absent ones are missing.
func (a arguments) bind(fn string, params ...string) ([]Value, error) {
	if len(a.pos) > len(params) {
		return nil, fail("%s takes at most %d argument(s), got %d", fn, len(params), len(a.pos))
	}
	out := make([]Value, len(params))
	for i := range out {
		out[i] = missing{}
	}
	copy(out, a.pos)
next:
	for i, k := range a.names {
		for j, p := range params {
			if p == k {
				if j < len(a.pos) {
					return nil, fail("%s got two values for argument %q", fn, k)
				}
				out[j] = a.named[i]
				continue next
			}
		}
		return nil, fail("%s takes no argument %q", fn, k)
	}
	return out, nil
}

// missing stands for an argument that was not given.
type missing struct{}

func given(v Value) bool { _, no := v.(missing); return !no }

func (c *call) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, at(c.line, err)
	}
	fn, err := c.fn.eval(r, s)
	if err != nil {
		return nil, err
	}
	args, err := c.args.eval(r, s)
	if err != nil {
		return nil, err
	}
	var out Value
	switch fn := fn.(type) {
	case *function:
		out, err = fn.call(r, args)
	case *loop:
		switch {
		case fn.again == nil:
			err = fail("the loop is not recursive")
		case len(args.pos) != 1 || len(args.names) > 0:
			err = fail("loop() takes one argument")
		default:
			out, err = fn.again(r, args.pos[0])
		}
	case Undefined:
		err = fn.fail()
	default:
		err = fail("'%s' object is not callable", typeName(fn))
	}
	return out, at(c.line, err)
}

func (f *filter) eval(r *run, s *scope) (Value, error) {
	v, err := f.of.eval(r, s)
	if err != nil {
		return nil, err
	}
	return f.apply(r, s, v)
}

func (f *filter) apply(r *run, s *scope, v Value) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	args, err := f.args.eval(r, s)
	if err != nil {
		return nil, err
	}
	out, err := f.fn(r, v, args)
	return out, at(f.line, err)
}

func (t *test) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	v, err := t.of.eval(r, s)
	if err != nil {
		return nil, err
	}
	args, err := t.args.eval(r, s)
	if err != nil {
		return nil, err
	}
	ok, err := t.fn(r, v, args)
	return ok != t.negate, at(t.line, err)
}

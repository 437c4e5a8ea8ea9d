package jinja

// loop is the loop object inside a for.
type loop struct {
	items List
	index int // from 0
	depth int // from 1
	last  Value
	ever  bool // changed() was called
	again func(r *run, v Value) (Value, error)
}

func (f *forStmt) exec(r *run, s *scope, out *output) (signal, error) {
	v, err := f.in.eval(r, s)
	if err != nil {
		return goOn, at(f.line, err)
	}
	return f.over(r, s, out, v, 1)
}

// over runs the loop over a value; depth counts recursive loops.
func (f *forStmt) over(r *run, s *scope, out *output, v Value, depth int) (signal, error) {
	defer r.up()
	if err := r.down(); err != nil {
		return goOn, at(f.line, err)
	}
	items, err := r.iterate(v)
	if err != nil {
		return goOn, at(f.line, err)
	}
	if f.cond != nil {
		if items, err = f.chosen(r, s, items); err != nil {
			return goOn, at(f.line, err)
		}
	}
	if len(items) == 0 {
		return f.other.exec(r, &scope{parent: s}, out)
	}
	l := &loop{items: items, depth: depth}
	if f.recursive {
		l.again = func(r *run, v Value) (Value, error) {
			inner := &output{limit: r.limits.Output}
			if _, err := f.over(r, s, inner, v, depth+1); err != nil {
				return nil, err
			}
			return inner.String(), r.spend(inner.Len())
		}
	}
	for i, x := range items {
		if err := r.step(); err != nil {
			return goOn, at(f.line, err)
		}
		l.index = i
		body := &scope{parent: s} // what is set in one turn is gone in the next
		if err := r.assign(body, f.target, x); err != nil {
			return goOn, at(f.line, err)
		}
		body.set("loop", l)
		sig, err := f.body.exec(r, body, out)
		if err != nil {
			return goOn, err
		}
		if sig == signalBreak {
			break
		}
	}
	return goOn, nil
}

// chosen are the items that the loop's own if keeps; loop counts those only.
func (f *forStmt) chosen(r *run, s *scope, items List) (List, error) {
	var out List
	for _, x := range items {
		if err := r.step(); err != nil {
			return nil, err
		}
		inner := &scope{parent: s}
		if err := r.assign(inner, f.target, x); err != nil {
			return nil, err
		}
		ok, err := f.cond.eval(r, inner)
		if err != nil {
			return nil, err
		}
		if truthy(ok) {
			out = append(out, x)
		}
	}
	return out, r.spend(16 * len(out))
}

// attr is an attribute of the loop object.
func (l *loop) attr(id string) (Value, bool) {
	n := len(l.items)
	switch id {
	case "index":
		return int64(l.index + 1), true
	case "index0":
		return int64(l.index), true
	case "revindex":
		return int64(n - l.index), true
	case "revindex0":
		return int64(n - l.index - 1), true
	case "first":
		return l.index == 0, true
	case "last":
		return l.index == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth), true
	case "depth0":
		return int64(l.depth - 1), true
	case "previtem":
		if l.index == 0 {
			return Undefined{"there is no previous item"}, true
		}
		return l.items[l.index-1], true
	case "nextitem":
		if l.index == n-1 {
			return Undefined{"there is no next item"}, true
		}
		return l.items[l.index+1], true
	case "cycle":
		return &function{"cycle", func(r *run, a arguments) (Value, error) {
			if len(a.pos) == 0 {
				return nil, fail("no items for cycling given")
			}
			return a.pos[l.index%len(a.pos)], nil
		}}, true
	case "changed":
		return &function{"changed", func(r *run, a arguments) (Value, error) {
			now := Tuple(a.pos)
			if l.ever {
				if same, err := r.equal(l.last, now); err != nil || same {
					return false, err
				}
			}
			l.last, l.ever = now, true
			return true, nil
		}}, true
	}
	return nil, false
}

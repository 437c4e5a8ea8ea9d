package jinja

func (b block) exec(r *run, s *scope, out *output) (signal, error) {
	for _, x := range b {
		if err := r.step(); err != nil {
			return goOn, err
		}
		if sig, err := x.exec(r, s, out); err != nil || sig != goOn {
			return sig, err
		}
	}
	return goOn, nil
}

func (d data) exec(_ *run, _ *scope, out *output) (signal, error) { return goOn, out.put(d.text) }

func (j jump) exec(*run, *scope, *output) (signal, error) { return j.to, nil }

func (p *print) exec(r *run, s *scope, out *output) (signal, error) {
	v, err := p.x.eval(r, s)
	if err != nil {
		return goOn, at(p.line, err)
	}
	text, err := r.str(v)
	if err == nil {
		err = out.put(text)
	}
	return goOn, at(p.line, err)
}

func (i *ifStmt) exec(r *run, s *scope, out *output) (signal, error) {
	for n, cond := range i.conds {
		v, err := cond.eval(r, s)
		if err != nil {
			return goOn, at(i.line, err)
		}
		if truthy(v) {
			return i.then[n].exec(r, s, out)
		}
	}
	return i.other.exec(r, s, out)
}

func (x *setStmt) exec(r *run, s *scope, _ *output) (signal, error) {
	v, err := x.x.eval(r, s)
	if err != nil {
		return goOn, at(x.line, err)
	}
	return goOn, at(x.line, r.assign(s, x.target, v))
}

func (x *setBlock) exec(r *run, s *scope, _ *output) (signal, error) {
	text, sig, err := r.capture(x.body, &scope{parent: s})
	if err != nil {
		return sig, at(x.line, err)
	}
	v, err := r.pipe(s, x.filters, text)
	if err == nil {
		err = r.assign(s, x.target, v)
	}
	return sig, at(x.line, err)
}

// pipe applies filters one after another.
func (r *run) pipe(s *scope, filters []*filter, v Value) (Value, error) {
	for _, f := range filters {
		var err error
		if v, err = f.apply(r, s, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (x *filterStmt) exec(r *run, s *scope, out *output) (signal, error) {
	text, sig, err := r.capture(x.body, &scope{parent: s})
	if err != nil {
		return sig, err
	}
	v, err := r.pipe(s, x.filters, text)
	if err != nil {
		return sig, at(x.line, err)
	}
	if text, err = r.str(v); err == nil {
		err = out.put(text)
	}
	return sig, at(x.line, err)
}

func (x *withStmt) exec(r *run, s *scope, out *output) (signal, error) {
	inner := &scope{parent: s}
	for i, t := range x.names {
		v, err := x.vals[i].eval(r, s)
		if err == nil {
			err = r.assign(inner, t, v)
		}
		if err != nil {
			return goOn, at(x.line, err)
		}
	}
	return x.body.exec(r, inner, out)
}

func (x *scoped) exec(r *run, s *scope, out *output) (signal, error) {
	return x.body.exec(r, &scope{parent: s}, out)
}

// assign sets a target in the scope.
func (r *run) assign(s *scope, t target, v Value) error {
	switch {
	case t.attr != "":
		old, ok := s.get(t.name)
		ns, is := old.(*namespace)
		if !ok || !is {
			return fail("cannot assign attribute %q: %q is no namespace", t.attr, t.name)
		}
		ns.vars.Put(t.attr, v)
		return nil
	case t.unpack == nil:
		s.set(t.name, v)
		return nil
	}
	items, err := r.iterate(v)
	if err != nil {
		return err
	}
	if len(items) != len(t.unpack) {
		return fail("got %d values to unpack, want %d", len(items), len(t.unpack))
	}
	for i, u := range t.unpack {
		if err := r.assign(s, u, items[i]); err != nil {
			return err
		}
	}
	return nil
}

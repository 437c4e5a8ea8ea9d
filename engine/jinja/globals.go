package jinja

// maxRange is the longest range(), as in the reference's sandbox.
const maxRange = 100000

// global is a name every template knows, nil if it is none.
func global(id string) Value {
	var fn func(r *run, a arguments) (Value, error)
	switch id {
	case "range":
		fn = rangeOf
	case "dict":
		fn = func(r *run, a arguments) (Value, error) { return dictOf(r, id, a) }
	case "namespace":
		fn = func(r *run, a arguments) (Value, error) {
			d, err := dictOf(r, id, a)
			if err != nil {
				return nil, err
			}
			return &namespace{d}, nil
		}
	case "raise_exception":
		fn = func(r *run, a arguments) (Value, error) {
			p, err := a.bind(id, "message")
			if err != nil {
				return nil, err
			}
			if err := needArg(id, "message", p[0]); err != nil {
				return nil, err
			}
			text, err := r.str(p[0])
			if err != nil {
				return nil, err
			}
			return nil, &Error{Message: text, Raised: true}
		}
	case "strftime_now":
		fn = func(r *run, a arguments) (Value, error) {
			p, err := a.bind(id, "format")
			if err != nil {
				return nil, err
			}
			layout, err := textArg(id, "format", p[0], "")
			if err != nil {
				return nil, err
			}
			return strftime(r.now(), layout)
		}
	case "joiner":
		fn = func(_ *run, a arguments) (Value, error) {
			p, err := a.bind(id, "sep")
			if err != nil {
				return nil, err
			}
			sep, err := textArg(id, "sep", p[0], ", ")
			used := false
			return &function{id, func(*run, arguments) (Value, error) {
				if !used {
					used = true
					return "", nil
				}
				return sep, nil
			}}, err
		}
	case "cycler", "lipsum":
		fn = func(*run, arguments) (Value, error) { return nil, fail("unsupported function %q", id) }
	default:
		return nil
	}
	return &function{id, fn}
}

func rangeOf(r *run, a arguments) (Value, error) {
	p, err := a.bind("range", "start", "stop", "step")
	if err != nil {
		return nil, err
	}
	var n [3]int64
	for i, param := range []string{"start", "stop", "step"} {
		if n[i], err = intArg("range", param, p[i], 1); err != nil {
			return nil, err
		}
	}
	switch {
	case !given(p[0]):
		return nil, fail("range expected at least 1 argument, got 0")
	case !given(p[1]):
		n[0], n[1] = 0, n[0]
	}
	from, to, step := n[0], n[1], n[2]
	if step == 0 {
		return nil, fail("range() arg 3 must not be zero")
	}
	out := List{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(out) >= maxRange {
			return nil, overLimit("length of a range", maxRange)
		}
		if len(out)%1024 == 0 {
			if err := r.spend(16 * 1024); err != nil {
				return nil, err
			}
		}
		out = append(out, i)
		if i+step > i != (step > 0) {
			break // past 64 bits
		}
	}
	return out, nil
}

// dictOf is dict(mapping or pairs, **named).
func dictOf(r *run, fn string, a arguments) (*Dict, error) {
	if len(a.pos) > 1 {
		return nil, fail("%s expected at most 1 argument, got %d", fn, len(a.pos))
	}
	out := NewDict()
	if len(a.pos) == 1 {
		if d, ok := a.pos[0].(*Dict); ok {
			out = d.Clone()
		} else {
			pairs, err := r.iterate(a.pos[0])
			if err != nil {
				return nil, err
			}
			for _, p := range pairs {
				kv, err := r.iterate(p)
				if err != nil {
					return nil, err
				}
				if len(kv) != 2 {
					return nil, fail("%s: an element has length %d, want 2", fn, len(kv))
				}
				if err := out.Set(kv[0], kv[1]); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, k := range a.names {
		out.Put(k, a.named[i])
	}
	return out, r.spend(64 * out.Len())
}

package jinja

// method is a method of a value as a callable, nil if there is none of the name. Those that would change a value are there and fail
// when called: templates run in an immutable sandbox.
func method(v Value, id string) Value {
	var fn func(r *run, a arguments) (Value, error)
	switch v := v.(type) {
	case string:
		if m := stringMethod(id); m != nil {
			fn = func(r *run, a arguments) (Value, error) {
				if err := r.spend(len(v) >> 2); err != nil {
					return nil, err
				}
				return m(r, v, a)
			}
		}
	case *Dict:
		fn = dictMethod(v, id)
	case List:
		fn = listMethod(v, id)
	case Tuple:
		if id == "index" || id == "count" {
			fn = listMethod(List(v), id)
		}
	}
	if fn == nil {
		return nil
	}
	return &function{id, fn}
}

func immutable(kind, id string) func(*run, arguments) (Value, error) {
	return func(*run, arguments) (Value, error) {
		return nil, fail("%s.%s would change a value: templates may not", kind, id)
	}
}

func dictMethod(d *Dict, id string) func(*run, arguments) (Value, error) {
	view := func(make func() List) func(*run, arguments) (Value, error) {
		return func(r *run, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			return &iter{items: make(), view: "dict_" + id}, r.spend(48 * d.Len())
		}
	}
	switch id {
	case "items":
		return view(d.pairs)
	case "keys":
		return view(func() List { return List(d.keys) })
	case "values":
		return view(func() List { return List(d.vals) })
	case "get":
		return func(_ *run, a arguments) (Value, error) {
			p, err := a.bind("get", "key", "default")
			if err != nil {
				return nil, err
			}
			if !given(p[0]) {
				return nil, fail("get expected at least 1 argument, got 0")
			}
			if _, ok := hashKey(p[0]); !ok {
				return nil, fail("unhashable type: '%s'", typeName(p[0]))
			}
			if v, ok := d.Get(p[0]); ok {
				return v, nil
			}
			if given(p[1]) {
				return p[1], nil
			}
			return nil, nil
		}
	case "copy":
		return func(r *run, a arguments) (Value, error) {
			if _, err := a.bind("copy"); err != nil {
				return nil, err
			}
			return d.Clone(), r.spend(64 * d.Len())
		}
	case "pop", "popitem", "update", "setdefault", "clear":
		return immutable("dict", id)
	}
	return nil
}

func listMethod(l List, id string) func(*run, arguments) (Value, error) {
	switch id {
	case "index", "count":
		return func(r *run, a arguments) (Value, error) {
			p, err := a.bind(id, "value")
			if err != nil {
				return nil, err
			}
			n := int64(0)
			for i, v := range l {
				same, err := r.equal(v, p[0])
				if err != nil {
					return nil, err
				}
				if same {
					if id == "index" {
						return int64(i), nil
					}
					n++
				}
			}
			if id == "index" {
				return nil, fail("value is not in list")
			}
			return n, nil
		}
	case "copy":
		return func(*run, arguments) (Value, error) { return l, nil }
	case "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse":
		return immutable("list", id)
	}
	return nil
}

// Typed arguments of methods and filters.

func textArg(fn, param string, v Value, absent string) (string, error) {
	if !given(v) {
		return absent, nil
	}
	s, ok := v.(string)
	if !ok {
		return "", fail("%s: %s must be str, not %s", fn, param, typeName(v))
	}
	return s, nil
}

func intArg(fn, param string, v Value, absent int64) (int64, error) {
	if !given(v) {
		return absent, nil
	}
	i, _, isInt, ok := numeric(v)
	if !ok || !isInt {
		return 0, fail("%s: %s must be int, not %s", fn, param, typeName(v))
	}
	return i, nil
}

func boolArg(v Value, absent bool) bool {
	if !given(v) {
		return absent
	}
	return truthy(v)
}

func needArg(fn, param string, v Value) error {
	if given(v) {
		return nil
	}
	return fail("%s: argument %s is missing", fn, param)
}

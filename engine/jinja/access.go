package jinja

import (
	"fmt"
	"unicode/utf8"
)

// eval of x.name: a method or built-in attribute first, then an item of that name, as the reference looks things up.
func (a *attr) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, at(a.line, err)
	}
	v, err := a.of.eval(r, s)
	if err != nil {
		return nil, err
	}
	out, err := r.attribute(v, a.name)
	return out, at(a.line, err)
}

func (r *run) attribute(v Value, id string) (Value, error) {
	if u, ok := v.(Undefined); ok {
		return nil, u.fail()
	}
	if m := method(v, id); m != nil {
		return m, nil
	}
	switch v := v.(type) {
	case *loop:
		if x, ok := v.attr(id); ok {
			return x, nil
		}
	case *namespace:
		if x, ok := v.vars.Get(id); ok {
			return x, nil
		}
	case *Dict:
		if x, ok := v.Get(id); ok {
			return x, nil
		}
	}
	return absent(v, id), nil
}

// absent is the undefined value of a name that v lacks.
func absent(v Value, key Value) Value {
	if v == nil {
		return Undefined{fmt.Sprintf("'None' has no attribute '%v'", key)}
	}
	return Undefined{fmt.Sprintf("'%s object' has no attribute '%v'", typeName(v), key)}
}

func (i *item) eval(r *run, s *scope) (Value, error) {
	if err := r.step(); err != nil {
		return nil, at(i.line, err)
	}
	v, err := i.of.eval(r, s)
	if err != nil {
		return nil, err
	}
	key, err := i.key.eval(r, s)
	if err != nil {
		return nil, err
	}
	out, err := r.index(v, key)
	return out, at(i.line, err)
}

// index is x[key]: undefined when out of range or absent. A string key that is no item may name a method.
func (r *run) index(v, key Value) (Value, error) {
	switch x := v.(type) {
	case Undefined:
		return nil, x.fail()
	case *Dict:
		if out, ok := x.Get(key); ok {
			return out, nil
		}
	case List:
		if n, ok := position(key, len(x)); ok {
			return x[n], nil
		}
	case Tuple:
		if n, ok := position(key, len(x)); ok {
			return x[n], nil
		}
	case string:
		if err := r.spend(len(x) >> 4); err != nil {
			return nil, err
		}
		if n, ok := position(key, utf8.RuneCountInString(x)); ok {
			for _, c := range x {
				if n == 0 {
					return string(c), nil
				}
				n--
			}
		}
	}
	if id, ok := key.(string); ok {
		if _, isDict := v.(*Dict); !isDict || method(v, id) != nil {
			return r.attribute(v, id)
		}
	}
	return absent(v, key), nil
}

// position resolves an index that may be negative.
func position(key Value, n int) (int, bool) {
	i, _, isInt, ok := numeric(key)
	if !ok || !isInt {
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

func (x *slice) eval(r *run, s *scope) (Value, error) {
	v, err := x.of.eval(r, s)
	if err != nil {
		return nil, err
	}
	var parts [3]Value
	for i, e := range []expr{x.from, x.to, x.step} {
		if e != nil {
			if parts[i], err = e.eval(r, s); err != nil {
				return nil, err
			}
		}
	}
	out, err := r.cut(v, parts)
	return out, at(x.line, err)
}

// cut is v[from:to:step] of lists, tuples and strings.
func (r *run) cut(v Value, parts [3]Value) (Value, error) {
	if u, ok := v.(Undefined); ok {
		return nil, u.fail()
	}
	n, err := length(v)
	if err != nil {
		return nil, err
	}
	indices, err := span(parts, n)
	if err != nil {
		return nil, err
	}
	if err := r.spend(16 * indices.count); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		if n == len(v) && indices.step == 1 { // plain ASCII
			return v[indices.from : indices.from+indices.count], nil
		}
		if err := r.spend(4 * n); err != nil {
			return nil, err
		}
		runes := []rune(v)
		out := make([]rune, indices.count)
		for i := range out {
			out[i] = runes[indices.from+i*indices.step]
		}
		return string(out), nil
	case List:
		return pick(v, indices), nil
	case Tuple:
		return Tuple(pick(List(v), indices)), nil
	}
	return nil, fail("'%s' object cannot be sliced", typeName(v))
}

func pick(v List, s indices) List {
	out := make(List, s.count)
	for i := range out {
		out[i] = v[s.from+i*s.step]
	}
	return out
}

// indices are the places a slice takes: from, from+step, ... count of them.
type indices struct{ from, step, count int }

// span resolves a slice over n elements by Python's rules. from is within 0..n even if count is 0.
func span(parts [3]Value, n int) (indices, error) {
	get := func(v Value, absent int) (int, error) {
		if v == nil {
			return absent, nil
		}
		i, _, isInt, ok := numeric(v)
		if !ok || !isInt {
			return 0, fail("slice indices must be integers or None, not %s", typeName(v))
		}
		return int(min(max(i, -1<<40), 1<<40)), nil
	}
	step, err := get(parts[2], 1)
	if err != nil {
		return indices{}, err
	}
	if step == 0 {
		return indices{}, fail("slice step cannot be zero")
	}
	lo, hi := 0, n // the bounds a part is clamped to
	first, last := 0, n
	if step < 0 {
		lo, hi = -1, n-1
		first, last = n-1, -1
	}
	clamp := func(v Value, absent int) (int, error) {
		i, err := get(v, absent)
		if err != nil || v == nil {
			return i, err
		}
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi), nil
	}
	from, err := clamp(parts[0], first)
	if err != nil {
		return indices{}, err
	}
	to, err := clamp(parts[1], last)
	if err != nil {
		return indices{}, err
	}
	count := 0
	if step > 0 && from < to {
		count = (to - from + step - 1) / step
	} else if step < 0 && from > to {
		count = (from - to - step - 1) / -step
	}
	if count == 0 {
		from = 0
	}
	return indices{from, step, count}, nil
}

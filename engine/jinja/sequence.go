package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// sequenceFilter finds the filters on lists and dictionaries.
func sequenceFilter(id string) filterFunc {
	switch id {
	case "length", "count":
		return func(_ *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			n, err := length(v)
			return int64(n), err
		}
	case "list":
		return func(r *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			items, err := r.iterate(v)
			if err != nil {
				return nil, err
			}
			return slices.Clone(items), r.spend(16 * len(items))
		}
	case "items":
		return func(r *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			switch v := v.(type) {
			case Undefined:
				return &iter{}, nil
			case *Dict:
				return &iter{items: v.pairs()}, r.spend(48 * v.Len())
			}
			return nil, fail("can only get item pairs from a mapping, not %s", typeName(v))
		}
	case "first", "last":
		return func(r *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			items, err := r.iterate(v)
			switch {
			case err != nil:
				return nil, err
			case len(items) == 0:
				return Undefined{"no " + id + " item, sequence was empty"}, nil
			case id == "first":
				return items[0], nil
			}
			return items[len(items)-1], nil
		}
	case "reverse":
		return func(r *run, v Value, a arguments) (Value, error) {
			if _, err := a.bind(id); err != nil {
				return nil, err
			}
			if s, ok := v.(string); ok {
				runes := []rune(s)
				slices.Reverse(runes)
				return string(runes), r.spend(5 * len(s))
			}
			items, err := r.iterate(v)
			if err != nil {
				return nil, err
			}
			out := slices.Clone(items)
			slices.Reverse(out)
			return &iter{items: out}, r.spend(16 * len(out))
		}
	case "join":
		return func(r *run, v Value, a arguments) (Value, error) {
			p, err := a.bind(id, "d", "attribute")
			if err != nil {
				return nil, err
			}
			items, err := r.iterate(v)
			if err != nil {
				return nil, err
			}
			if given(p[1]) && p[1] != nil {
				if items, err = r.pluck(items, p[1], missing{}); err != nil {
					return nil, err
				}
			}
			sep := ""
			if given(p[0]) {
				if sep, err = r.str(p[0]); err != nil {
					return nil, err
				}
			}
			return joined(r, items, sep)
		}
	case "map":
		return mapped
	case "select", "reject", "selectattr", "rejectattr":
		return func(r *run, v Value, a arguments) (Value, error) { return selected(r, id, v, a) }
	case "sort", "unique", "min", "max":
		return func(r *run, v Value, a arguments) (Value, error) { return sorted(r, id, v, a) }
	case "dictsort":
		return dictsort
	case "sum":
		return sum
	case "batch", "slice":
		return func(r *run, v Value, a arguments) (Value, error) { return grouped(r, id, v, a) }
	}
	return nil
}

// lookup follows a dotted path of names and indices into v, as the attribute arguments of filters do: items before attributes.
func (r *run) lookup(v, path Value) (Value, error) {
	s, ok := path.(string)
	if !ok {
		return r.index(v, path)
	}
	for part := range strings.SplitSeq(s, ".") {
		var key Value = part
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			key = n
		}
		var err error
		if v, err = r.index(v, key); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// pluck looks the path up in each item; undefined results become otherwise if that is given.
func (r *run) pluck(items List, path, otherwise Value) (List, error) {
	if err := r.spend(16 * len(items)); err != nil {
		return nil, err
	}
	out := make(List, len(items))
	for i, v := range items {
		if err := r.step(); err != nil {
			return nil, err
		}
		x, err := r.lookup(v, path)
		if err != nil {
			return nil, err
		}
		if _, no := x.(Undefined); no && given(otherwise) {
			x = otherwise
		}
		out[i] = x
	}
	return out, nil
}

func mapped(r *run, v Value, a arguments) (Value, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	if len(a.pos) == 0 {
		p, err := a.bind("map", "attribute", "default")
		if err != nil {
			return nil, err
		}
		if err := needArg("map", "attribute or filter", p[0]); err != nil {
			return nil, err
		}
		out, err := r.pluck(items, p[0], p[1])
		return &iter{items: out}, err
	}
	id, err := textArg("map", "filter", a.pos[0], "")
	if err != nil {
		return nil, err
	}
	f := filterNamed(id)
	if f == nil {
		return nil, fail("map: unknown filter %q", id)
	}
	rest := arguments{a.pos[1:], a.names, a.named}
	out := make(List, len(items))
	for i, x := range items {
		if err := r.step(); err != nil {
			return nil, err
		}
		if out[i], err = f(r, x, rest); err != nil {
			return nil, err
		}
	}
	return &iter{items: out}, r.spend(16 * len(out))
}

// selected is select, reject, selectattr and rejectattr.
func selected(r *run, id string, v Value, a arguments) (Value, error) {
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	byAttr := strings.HasSuffix(id, "attr")
	var path Value
	if byAttr {
		if len(a.pos) == 0 {
			return nil, fail("%s: the attribute is missing", id)
		}
		path = a.pos[0]
		a.pos = a.pos[1:]
	}
	fits := func(_ *run, v Value, _ arguments) (bool, error) { return truthy(v), nil }
	if len(a.pos) > 0 {
		name, err := textArg(id, "test", a.pos[0], "")
		if err != nil {
			return nil, err
		}
		if fits = testNamed(name); fits == nil {
			return nil, fail("%s: unknown test %q", id, name)
		}
		a.pos = a.pos[1:]
	}
	keep := strings.HasPrefix(id, "select")
	out := List{}
	for _, x := range items {
		if err := r.step(); err != nil {
			return nil, err
		}
		subject := x
		if byAttr {
			if subject, err = r.lookup(x, path); err != nil {
				return nil, err
			}
		}
		ok, err := fits(r, subject, a)
		if err != nil {
			return nil, err
		}
		if ok == keep {
			out = append(out, x)
		}
	}
	return &iter{items: out}, r.spend(16 * len(out))
}

// sorted is sort, unique, min and max: by an attribute if given, without regard to case unless asked.
func sorted(r *run, id string, v Value, a arguments) (Value, error) {
	params := []string{"case_sensitive", "attribute"}
	if id == "sort" {
		params = []string{"reverse", "case_sensitive", "attribute"}
	}
	p, err := a.bind(id, params...)
	if err != nil {
		return nil, err
	}
	reverse := id == "sort" && boolArg(p[0], false)
	p = p[len(p)-2:]
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	keys := items
	if given(p[1]) && p[1] != nil {
		if keys, err = r.pluck(items, p[1], missing{}); err != nil {
			return nil, err
		}
	}
	if err := r.spend(64 * len(items)); err != nil {
		return nil, err
	}
	type pair struct{ key, item Value }
	pairs := make([]pair, len(items))
	for i, k := range keys {
		if s, ok := k.(string); ok && !boolArg(p[0], false) {
			k = strings.ToLower(s)
		}
		pairs[i] = pair{k, items[i]}
	}
	out := List{}
	if id == "unique" {
		var seen List
		for _, x := range pairs {
			ok, err := r.contains(seen, x.key)
			if err != nil {
				return nil, err
			}
			if !ok {
				seen = append(seen, x.key)
				out = append(out, x.item)
			}
		}
		return &iter{items: out}, nil
	}
	var bad error
	slices.SortStableFunc(pairs, func(x, y pair) int {
		if bad != nil {
			return 0
		}
		c, err := r.order(x.key, y.key)
		bad = err
		if reverse {
			c = -c
		}
		return c
	})
	switch {
	case bad != nil:
		return nil, bad
	case id == "sort":
		for _, x := range pairs {
			out = append(out, x.item)
		}
		return out, nil
	case len(pairs) == 0:
		return Undefined{"no aggregated item, sequence was empty"}, nil
	case id == "min":
		return pairs[0].item, nil
	}
	top := len(pairs) - 1 // the first of equals, as Python's max
	for ; top > 0; top-- {
		same, err := r.equal(pairs[top-1].key, pairs[top].key)
		if err != nil {
			return nil, err
		}
		if !same {
			break
		}
	}
	return pairs[top].item, nil
}

func dictsort(r *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("dictsort", "case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, fail("dictsort: want a mapping, got %s", typeName(v))
	}
	by, err := textArg("dictsort", "by", p[1], "key")
	if err != nil {
		return nil, err
	}
	if by != "key" && by != "value" {
		return nil, fail("dictsort: by must be key or value")
	}
	path := map[string]int64{"key": 0, "value": 1}[by]
	return sorted(r, "sort", d.pairs(), arguments{names: []string{"reverse", "case_sensitive", "attribute"},
		named: []Value{boolArg(p[2], false), boolArg(p[0], false), path}})
}

func sum(r *run, v Value, a arguments) (Value, error) {
	p, err := a.bind("sum", "attribute", "start")
	if err != nil {
		return nil, err
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	if given(p[0]) && p[0] != nil {
		if items, err = r.pluck(items, p[0], missing{}); err != nil {
			return nil, err
		}
	}
	total := p[1]
	if !given(total) {
		total = int64(0)
	}
	for _, x := range items {
		if err := r.step(); err != nil {
			return nil, err
		}
		if total, err = r.arith("+", total, x); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// grouped is batch (rows of n items) and slice (n columns); fill_with completes the short ones.
func grouped(r *run, id string, v Value, a arguments) (Value, error) {
	p, err := a.bind(id, "count", "fill_with")
	if err != nil {
		return nil, err
	}
	items, err := r.iterate(v)
	if err != nil {
		return nil, err
	}
	n, err := intArg(id, "count", p[0], 0)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxRange {
		return nil, fail("%s: count %d is out of range", id, n)
	}
	fill := given(p[1]) && p[1] != nil
	if err := r.spend(16*len(items) + 40*int(n)); err != nil {
		return nil, err
	}
	out := List{}
	if id == "batch" {
		for len(items) > 0 {
			row := slices.Clone(items[:min(int(n), len(items))])
			items = items[len(row):]
			for fill && len(row) < int(n) {
				row = append(row, p[1])
			}
			out = append(out, row)
		}
		return &iter{items: out}, nil
	}
	each, more := len(items)/int(n), len(items)%int(n)
	for i := range int(n) {
		size := each
		if i < more {
			size++
		}
		column := slices.Clone(items[:size])
		items = items[size:]
		if fill && i >= more && more > 0 {
			column = append(column, p[1])
		}
		out = append(out, column)
	}
	return &iter{items: out}, nil
}

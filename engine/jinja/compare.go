package jinja

import (
	"cmp"
	"math/big"
	"strings"
)

// compare is one comparison operator.
func (r *run) compare(op string, x, y Value) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := r.equal(x, y)
		return same == (op == "=="), err
	case "in":
		return r.contains(y, x)
	case "not in":
		ok, err := r.contains(y, x)
		return !ok, err
	}
	c, err := r.order(x, y)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// weigh charges steps for looking through two values.
func (r *run) weigh(x, y Value) error {
	n := 0
	for _, v := range []Value{x, y} {
		switch v := v.(type) {
		case string:
			n = max(n, len(v)>>6)
		case List:
			n = max(n, len(v))
		case Tuple:
			n = max(n, len(v))
		case *Dict:
			n = max(n, v.Len())
		}
	}
	r.steps += n
	return r.step()
}

// equal is Python's ==: numbers compare by value, other types only with their own kind. Every element costs a step: lists that share
// their elements can be exponentially large.
func (r *run) equal(x, y Value) (bool, error) { return r.equalAt(x, y, 0) }

func (r *run) equalAt(x, y Value, depth int) (bool, error) {
	if depth > maxNesting {
		return false, overLimit("nesting of compared values", maxNesting)
	}
	if err := r.weigh(x, y); err != nil {
		return false, err
	}
	i, f, xInt, ok1 := numeric(x)
	j, g, yInt, ok2 := numeric(y)
	if ok1 && ok2 {
		if xInt && yInt {
			return i == j, nil
		}
		return f == g, nil
	}
	switch a := x.(type) {
	case nil:
		return y == nil, nil
	case Undefined:
		_, ok := y.(Undefined)
		return ok, nil
	case string:
		b, ok := y.(string)
		return ok && a == b, nil
	case *big.Int:
		b, ok := y.(*big.Int)
		return ok && a.Cmp(b) == 0, nil
	case List:
		b, ok := y.(List)
		if !ok {
			return false, nil
		}
		return r.equalLists(a, b, depth)
	case Tuple:
		b, ok := y.(Tuple)
		if !ok {
			return false, nil
		}
		return r.equalLists(List(a), List(b), depth)
	case *Dict:
		b, ok := y.(*Dict)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		for k, v := range a.vals {
			w, ok := b.Get(a.keys[k])
			if !ok {
				return false, nil
			}
			if same, err := r.equalAt(v, w, depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case *namespace, *function, *iter, *loop:
		return x == y, nil
	}
	return false, nil
}

func (r *run) equalLists(a, b List, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if same, err := r.equalAt(a[i], b[i], depth+1); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// order is the sign of x - y for types that Python orders.
func (r *run) order(x, y Value) (int, error) { return r.orderAt(x, y, 0) }

func (r *run) orderAt(x, y Value, depth int) (int, error) {
	if depth > maxNesting {
		return 0, overLimit("nesting of compared values", maxNesting)
	}
	if err := r.weigh(x, y); err != nil {
		return 0, err
	}
	for _, v := range []Value{x, y} {
		if u, ok := v.(Undefined); ok {
			return 0, u.fail()
		}
	}
	i, f, xInt, ok1 := numeric(x)
	j, g, yInt, ok2 := numeric(y)
	if ok1 && ok2 {
		if xInt && yInt {
			return cmp.Compare(i, j), nil
		}
		return cmp.Compare(f, g), nil
	}
	switch a := x.(type) {
	case string:
		if b, ok := y.(string); ok {
			return strings.Compare(a, b), nil
		}
	case List:
		if b, ok := y.(List); ok {
			return r.orderLists(a, b, depth)
		}
	case Tuple:
		if b, ok := y.(Tuple); ok {
			return r.orderLists(List(a), List(b), depth)
		}
	}
	return 0, fail("'%s' and '%s' cannot be ordered", typeName(x), typeName(y))
}

func (r *run) orderLists(a, b List, depth int) (int, error) {
	for i := range min(len(a), len(b)) {
		same, err := r.equalAt(a[i], b[i], depth+1)
		if err != nil {
			return 0, err
		}
		if !same {
			return r.orderAt(a[i], b[i], depth+1)
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// contains is Python's "x in in".
func (r *run) contains(in, x Value) (bool, error) {
	switch in := in.(type) {
	case string:
		s, ok := x.(string)
		if !ok {
			if u, is := x.(Undefined); is {
				return false, u.fail()
			}
			return false, fail("'in <string>' requires string as left operand, not %s", typeName(x))
		}
		r.steps += len(in) >> 6
		return strings.Contains(in, s), r.step()
	case *Dict:
		if _, ok := hashKey(x); !ok {
			return false, fail("unhashable type: '%s'", typeName(x))
		}
		_, ok := in.Get(x)
		return ok, nil
	case *namespace:
		return false, fail("argument of type 'Namespace' is not iterable")
	}
	items, err := r.iterate(in)
	if err != nil {
		return false, fail("argument of type '%s' is not iterable", typeName(in))
	}
	for _, v := range items {
		if same, err := r.equal(v, x); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

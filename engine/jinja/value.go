package jinja

import (
	"math/big"
	"unicode/utf8"
)

// Value is any of: nil (None), Undefined, bool, int64, *big.Int (only beyond 64 bits), float64, string, List, Tuple, *Dict,
// and the package's own namespaces, functions, iterators and loop objects.
type Value = any

// List is a Python list. Values are never changed in place: templates run in an immutable sandbox.
type List []Value

// Tuple is a Python tuple.
type Tuple []Value

// Undefined is what an unknown name or attribute gives. It prints as nothing, is false and empty, and most else fails.
type Undefined struct{ why string }

func (u Undefined) fail() error {
	why := u.why
	if why == "" {
		why = "value is undefined"
	}
	return &Error{Message: why, cause: ErrUndefined}
}

// namespace is what namespace(...) makes: the only value a template may change.
type namespace struct{ vars *Dict }

// iter is a generator or, with the name of one, a dictionary view. Generators are true even when empty and have no length; views
// are false when empty and have one.
type iter struct {
	items List
	view  string // dict_items, dict_keys or dict_values
}

// function is anything that can be called.
type function struct {
	name string
	call func(r *run, a arguments) (Value, error)
}

// typeName is Python's name of a value's type, for messages.
func typeName(v Value) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case Undefined:
		return "Undefined"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case List:
		return "list"
	case Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *iter:
		return "generator"
	case *function:
		return "function"
	case *loop:
		return "LoopContext"
	}
	return "object"
}

// truthy is Python's bool().
func truthy(v Value) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case List:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	case *iter:
		return v.view == "" || len(v.items) > 0
	}
	return true
}

// length is Python's len(), -1 with an error for values without one. Strings count code points.
func length(v Value) (int, error) {
	switch v := v.(type) {
	case Undefined:
		return 0, nil
	case string:
		return utf8.RuneCountInString(v), nil
	case List:
		return len(v), nil
	case Tuple:
		return len(v), nil
	case *Dict:
		return v.Len(), nil
	case *iter:
		if v.view != "" {
			return len(v.items), nil
		}
	case *loop:
		return len(v.items), nil
	}
	return -1, fail("object of type '%s' has no len()", typeName(v))
}

// iterate is Python's iter(): the elements of a sequence, the keys of a dictionary, the characters of a string. The result must not
// be changed.
func (r *run) iterate(v Value) (List, error) {
	switch v := v.(type) {
	case Undefined:
		return nil, nil
	case List:
		return v, nil
	case Tuple:
		return List(v), nil
	case *iter:
		return v.items, nil
	case *loop:
		return v.items, nil
	case *Dict:
		return List(v.keys), nil
	case string:
		if err := r.spend(16 * len(v)); err != nil {
			return nil, err
		}
		out := make(List, 0, len(v))
		for _, c := range v {
			out = append(out, string(c))
		}
		return out, nil
	}
	return nil, fail("'%s' object is not iterable", typeName(v))
}

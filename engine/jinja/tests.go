package jinja

import (
	"math/big"
	"strings"
)

type testFunc func(r *run, v Value, a arguments) (bool, error)

// testNamed finds what stands behind "is", nil if unknown.
func testNamed(id string) testFunc {
	switch id {
	case "eq", "==", "equalto":
		return relation("==")
	case "ne", "!=":
		return relation("!=")
	case "lt", "<", "lessthan":
		return relation("<")
	case "le", "<=":
		return relation("<=")
	case "gt", ">", "greaterthan":
		return relation(">")
	case "ge", ">=":
		return relation(">=")
	case "in":
		return relation("in")
	case "sameas":
		return func(r *run, v Value, a arguments) (bool, error) {
			p, err := a.bind(id, "other")
			if err != nil {
				return false, err
			}
			same, err := r.equal(v, p[0])
			return same && typeName(v) == typeName(p[0]), err
		}
	case "divisibleby":
		return func(r *run, v Value, a arguments) (bool, error) {
			p, err := a.bind(id, "num")
			if err != nil {
				return false, err
			}
			m, err := r.arith("%", v, p[0])
			return err == nil && !truthy(m), err
		}
	case "odd", "even":
		return func(r *run, v Value, a arguments) (bool, error) {
			if _, err := a.bind(id); err != nil {
				return false, err
			}
			m, err := r.arith("%", v, int64(2))
			return err == nil && truthy(m) == (id == "odd"), err
		}
	case "filter", "test":
		return func(_ *run, v Value, _ arguments) (bool, error) {
			s, ok := v.(string)
			return ok && (id == "filter" && filterNamed(s) != nil || id == "test" && testNamed(s) != nil), nil
		}
	}
	if is := property(id); is != nil {
		return func(_ *run, v Value, a arguments) (bool, error) {
			_, err := a.bind(id)
			return is(v), err
		}
	}
	return nil
}

func relation(op string) testFunc {
	return func(r *run, v Value, a arguments) (bool, error) {
		p, err := a.bind("test "+op, "other")
		if err != nil {
			return false, err
		}
		if err := needArg("test "+op, "other", p[0]); err != nil {
			return false, err
		}
		return r.compare(op, v, p[0])
	}
}

// property is a test without arguments.
func property(id string) func(Value) bool {
	switch id {
	case "defined":
		return func(v Value) bool { _, no := v.(Undefined); return !no }
	case "undefined":
		return func(v Value) bool { _, ok := v.(Undefined); return ok }
	case "none":
		return func(v Value) bool { return v == nil }
	case "boolean":
		return func(v Value) bool { _, ok := v.(bool); return ok }
	case "true":
		return func(v Value) bool { b, ok := v.(bool); return ok && b }
	case "false":
		return func(v Value) bool { b, ok := v.(bool); return ok && !b }
	case "integer":
		return isInteger
	case "float":
		return func(v Value) bool { _, ok := v.(float64); return ok }
	case "number":
		return func(v Value) bool {
			switch v.(type) {
			case bool, float64:
				return true
			}
			return isInteger(v)
		}
	case "string":
		return func(v Value) bool { _, ok := v.(string); return ok }
	case "mapping":
		return func(v Value) bool { _, ok := v.(*Dict); return ok }
	case "sequence": // what has a length and can be indexed; Python's undefined objects pass
		return func(v Value) bool {
			switch v.(type) {
			case string, List, Tuple, *Dict, Undefined:
				return true
			}
			return false
		}
	case "iterable":
		return func(v Value) bool {
			switch v.(type) {
			case string, List, Tuple, *Dict, *iter, *loop, Undefined:
				return true
			}
			return false
		}
	case "callable":
		return func(v Value) bool {
			switch v.(type) {
			case *function, *loop, Undefined:
				return true
			}
			return false
		}
	case "lower":
		return func(v Value) bool { s, ok := v.(string); return ok && cased(s, strings.ToLower(s)) }
	case "upper":
		return func(v Value) bool { s, ok := v.(string); return ok && cased(s, strings.ToUpper(s)) }
	}
	return nil
}

func isInteger(v Value) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// cased tells whether s is already in the case and has letters that know case.
func cased(s, want string) bool { return s == want && strings.ToLower(s) != strings.ToUpper(s) }

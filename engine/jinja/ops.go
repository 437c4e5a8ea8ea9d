package jinja

import (
	"math"
	"math/big"
	"strings"
)

// numeric gives a number as int64 or float64; booleans are 0 and 1.
func numeric(v Value) (i int64, f float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, true, true
		}
		return 0, 0, true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

func sign(op string, v Value) (Value, error) {
	if u, ok := v.(Undefined); ok {
		return nil, u.fail()
	}
	i, f, isInt, ok := numeric(v)
	switch {
	case !ok:
		return nil, fail("bad operand type for unary %s: '%s'", op, typeName(v))
	case isInt && op == "-":
		if i == math.MinInt64 {
			return nil, errOverflow()
		}
		return -i, nil
	case isInt:
		return i, nil
	case op == "-":
		return -f, nil
	}
	return f, nil
}

func errOverflow() error { return fail("integer overflow: results beyond 64 bits are not supported") }

// arith is + - * / // % ** ~ with Python's meaning for each pair of types.
func (r *run) arith(op string, x, y Value) (Value, error) {
	if op == "~" {
		return r.concat(x, y)
	}
	for _, v := range []Value{x, y} {
		if u, ok := v.(Undefined); ok {
			return nil, u.fail()
		}
	}
	if s, ok := x.(string); ok && op == "%" {
		return r.percent(s, y)
	}
	i, f, xInt, ok1 := numeric(x)
	j, g, yInt, ok2 := numeric(y)
	if ok1 && ok2 {
		if xInt && yInt {
			return integers(op, i, j)
		}
		return floats(op, f, g)
	}
	switch op {
	case "+":
		switch a := x.(type) {
		case string:
			if b, ok := y.(string); ok {
				return a + b, r.spend(len(a) + len(b))
			}
		case List:
			if b, ok := y.(List); ok {
				return r.join(a, b)
			}
		case Tuple:
			if b, ok := y.(Tuple); ok {
				out, err := r.join(List(a), List(b))
				return Tuple(out), err
			}
		}
	case "*":
		if ok1 && xInt {
			x, y, j, ok2, yInt = y, x, i, true, true
		}
		if ok2 && yInt {
			switch a := x.(type) {
			case string:
				if err := r.repeat(len(a), j); err != nil {
					return nil, err
				}
				return strings.Repeat(a, int(max(j, 0))), nil
			case List:
				return r.times(a, j)
			case Tuple:
				out, err := r.times(List(a), j)
				return Tuple(out), err
			}
		}
	}
	return nil, fail("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(x), typeName(y))
}

func (r *run) concat(x, y Value) (Value, error) {
	a, err := r.str(x)
	if err != nil {
		return nil, err
	}
	b, err := r.str(y)
	if err != nil {
		return nil, err
	}
	return a + b, r.spend(len(a) + len(b))
}

func (r *run) join(a, b List) (List, error) {
	if err := r.spend(16 * (len(a) + len(b))); err != nil {
		return nil, err
	}
	return append(append(make(List, 0, len(a)+len(b)), a...), b...), nil
}

// repeat charges for n copies of size bytes.
func (r *run) repeat(size int, n int64) error {
	if n <= 0 || size == 0 {
		return nil
	}
	if n > int64(r.limits.Bytes)/int64(size) {
		return overLimit("memory in bytes", r.limits.Bytes)
	}
	return r.spend(size * int(n))
}

func (r *run) times(a List, n int64) (List, error) {
	if err := r.repeat(16*len(a), n); err != nil {
		return nil, err
	}
	out := List{}
	for range max(n, 0) {
		if len(a) == 0 {
			break
		}
		out = append(out, a...)
	}
	return out, nil
}

func integers(op string, i, j int64) (Value, error) {
	switch op {
	case "+":
		if s := i + j; (s > i) == (j > 0) {
			return s, nil
		}
	case "-":
		if s := i - j; (s < i) == (j > 0) {
			return s, nil
		}
	case "*":
		p := new(big.Int).Mul(big.NewInt(i), big.NewInt(j))
		if p.IsInt64() {
			return p.Int64(), nil
		}
	case "/":
		if j == 0 {
			return nil, fail("division by zero")
		}
		return float64(i) / float64(j), nil
	case "//", "%":
		if j == 0 {
			return nil, fail("integer modulo by zero")
		}
		if i == math.MinInt64 && j == -1 {
			return nil, errOverflow()
		}
		q, m := i/j, i%j
		if m != 0 && (m < 0) != (j < 0) { // Python rounds down
			q, m = q-1, m+j
		}
		if op == "//" {
			return q, nil
		}
		return m, nil
	case "**":
		if j < 0 {
			return floats(op, float64(i), float64(j))
		}
		if i == 0 || i == 1 || j == 0 {
			if j == 0 {
				return int64(1), nil
			}
			return i, nil
		}
		if i == -1 {
			return 1 - 2*(j&1), nil
		}
		if j < 64 {
			if p := new(big.Int).Exp(big.NewInt(i), big.NewInt(j), nil); p.IsInt64() {
				return p.Int64(), nil
			}
		}
	}
	return nil, errOverflow()
}

func floats(op string, f, g float64) (Value, error) {
	switch op {
	case "+":
		return f + g, nil
	case "-":
		return f - g, nil
	case "*":
		return f * g, nil
	case "**":
		if f == 0 && g < 0 {
			return nil, fail("0.0 cannot be raised to a negative power")
		}
		if f < 0 && g != math.Trunc(g) {
			return nil, fail("complex numbers are not supported")
		}
		return math.Pow(f, g), nil
	}
	if g == 0 {
		return nil, fail("float division by zero")
	}
	if op == "/" {
		return f / g, nil
	}
	m := math.Mod(f, g)
	if m != 0 && (m < 0) != (g < 0) {
		m += g
	}
	if op == "%" {
		return m, nil
	}
	return math.Floor((f - m) / g), nil
}

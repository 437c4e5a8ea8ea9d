package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxNesting bounds the depth of JSON values and of nested template syntax.
const maxNesting = 200

// FromJSON reads one JSON value: objects become ordered dictionaries, integers and floats stay apart (1 is not 1.0), as Python's
// json.loads does. A key given twice keeps its first place and its last value.
func FromJSON(raw []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, fmt.Errorf("jinja: reading JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("jinja: reading JSON: more than one value")
	}
	return v, nil
}

func readJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested deeper than %d", maxNesting)
	}
	tok, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Number:
		return number(tok.String())
	case json.Delim:
		if tok == '[' {
			out := List{}
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
			_, err := d.Token()
			return out, err
		}
		out := NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			if err := out.Set(key, v); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return out, err
	}
	return tok, nil // string, bool, nil
}

func number(s string) (Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		if len(s) > 4300 { // Python's own limit
			return nil, fmt.Errorf("integer of %d digits", len(s))
		}
		b, ok := new(big.Int).SetString(s, 10)
		if !ok {
			return nil, fmt.Errorf("bad integer %q", s)
		}
		return b, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	return f, nil
}

// FromGo makes a value of a Go one: nil, booleans, numbers, strings, json.Number, json.RawMessage, slices and maps of these (map
// keys sorted, for Go maps have no order), and values of this package as they are.
func FromGo(v any) (Value, error) {
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64, string, List, Tuple, *Dict, Undefined:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case json.Number:
		return number(v.String())
	case json.RawMessage:
		return FromJSON(v)
	case []any:
		out := make(List, len(v))
		for i, x := range v {
			var err error
			if out[i], err = FromGo(x); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []string:
		out := make(List, len(v))
		for i, x := range v {
			out[i] = x
		}
		return out, nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		out := NewDict()
		for _, k := range keys {
			x, err := FromGo(v[k])
			if err != nil {
				return nil, err
			}
			out.Put(k, x)
		}
		return out, nil
	}
	return nil, fmt.Errorf("jinja: cannot make a template value of a %T", v)
}

// layout is how tojson writes: json.dumps' own parameters.
type layout struct {
	ascii      bool
	indent     string // one level; used if multiline
	multiline  bool
	item, pair string                        // separators
	order      func(x, y Value) (int, error) // of keys; nil: insertion order
	limit      int                           // bytes
}

// maxJSON bounds what ToJSON writes: values that share their parts can be exponentially large.
const maxJSON = 1 << 30

func compact(limit int) layout { return layout{item: ", ", pair: ": ", limit: limit} }

// ToJSON writes a value as json.dumps(value, ensure_ascii=False) does: ", " and ": " as separators, insertion order.
func ToJSON(v Value) (string, error) {
	b, err := compact(maxJSON).append(nil, v, 0)
	return string(b), err
}

func (l layout) append(b []byte, v Value, depth int) ([]byte, error) {
	if depth > maxNesting {
		return nil, overLimit("nesting of a value for tojson", maxNesting)
	}
	if len(b) > l.limit {
		return nil, overLimit("memory in bytes", l.limit)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case *big.Int:
		return v.Append(b, 10), nil
	case float64:
		return append(b, jsonFloat(v)...), nil
	case string:
		return l.text(b, v), nil
	case List:
		return l.list(b, v, depth)
	case Tuple:
		return l.list(b, List(v), depth)
	case *Dict:
		return l.dict(b, v, depth)
	case Undefined:
		return nil, &Error{Message: "tojson: " + v.fail().(*Error).Message, cause: ErrUndefined}
	}
	return nil, fail("object of type %s is not JSON serializable", typeName(v))
}

func (l layout) newline(b []byte, depth int) []byte {
	if !l.multiline {
		return b
	}
	b = append(b, '\n')
	for range depth {
		b = append(b, l.indent...)
	}
	return b
}

func (l layout) list(b []byte, v List, depth int) ([]byte, error) {
	if len(v) == 0 {
		return append(b, "[]"...), nil
	}
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, l.item...)
		}
		b = l.newline(b, depth+1)
		var err error
		if b, err = l.append(b, x, depth+1); err != nil {
			return nil, err
		}
	}
	return append(l.newline(b, depth), ']'), nil
}

func (l layout) dict(b []byte, v *Dict, depth int) ([]byte, error) {
	if v.Len() == 0 {
		return append(b, "{}"...), nil
	}
	order := make([]int, v.Len())
	for i := range order {
		order[i] = i
	}
	if l.order != nil {
		var bad error
		slices.SortStableFunc(order, func(i, j int) int {
			c, err := l.order(v.keys[i], v.keys[j])
			if err != nil {
				bad = err
			}
			return c
		})
		if bad != nil {
			return nil, bad
		}
	}
	b = append(b, '{')
	for n, i := range order {
		if n > 0 {
			b = append(b, l.item...)
		}
		b = l.newline(b, depth+1)
		key, ok := v.keys[i].(string)
		if !ok {
			k, err := l.append(nil, v.keys[i], depth+1)
			if err != nil {
				return nil, err
			}
			key = string(k)
		}
		b = append(l.text(b, key), l.pair...)
		var err error
		if b, err = l.append(b, v.vals[i], depth+1); err != nil {
			return nil, err
		}
	}
	return append(l.newline(b, depth), '}'), nil
}

func (l layout) text(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c < 0x20 || l.ascii && c > 0x7E && c < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, c)
		case l.ascii && c >= 0x10000:
			c -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatText(f)
}

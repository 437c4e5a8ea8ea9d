package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// fields reads one JSON object field by field and remembers the first error, which names the file, the field, what it
// holds and what it should hold. A null counts as absent.
type fields struct {
	file string // "config.json"
	path string // "text_config", "" at the root
	m    map[string]any
	err  *error // shared by all objects of a file
}

// maxJSON bounds a JSON file that is parsed: an index of a hundred thousand tensors is some 10 MB, and a parsed value takes
// several times its text.
const maxJSON = 64 << 20

// readFields parses a JSON object.
func readFields(file string, data []byte) (*fields, error) {
	if len(data) > maxJSON {
		return nil, corrupt("%s: got %d bytes, want at most %d", file, len(data), maxJSON)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, corrupt("%s: bad JSON at byte %d: %v", file, dec.InputOffset(), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, corrupt("%s: text after the JSON object", file)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, corrupt("%s: got %s, want an object", file, describe(v))
	}
	return &fields{file: file, m: m, err: new(error)}, nil
}

// describe shows a JSON value in an error, cut short.
func describe(v any) string {
	var kind string
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		kind = "array"
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	default:
		kind = "number"
	}
	text := fmt.Sprintf("%v", v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "..."
	}
	return kind + " " + text
}

func (f *fields) name(key string) string {
	if f.path == "" {
		return f.file + ": " + key
	}
	return f.file + ": " + f.path + "." + key
}

func (f *fields) fail(err error) {
	if *f.err == nil {
		*f.err = err
	}
}

func (f *fields) wrong(key, want string) {
	f.fail(corrupt("%s: got %s, want %s", f.name(key), describe(f.m[key]), want))
}

func (f *fields) has(key string) bool { return f.m[key] != nil }

// need reports whether the field is there, and fails if not.
func (f *fields) need(key string) bool {
	if f.has(key) {
		return true
	}
	f.fail(missing("%s is missing", f.name(key)))
	return false
}

// integer reads a required integer in lo..hi.
func (f *fields) integer(key string, lo, hi int64) int64 {
	if !f.need(key) {
		return lo
	}
	return f.integerOr(key, lo, lo, hi)
}

// integerOr is integer with a value for an absent field.
func (f *fields) integerOr(key string, def, lo, hi int64) int64 {
	v, ok := f.m[key]
	if !ok || v == nil {
		return def
	}
	n, ok := toInt(v)
	if !ok || n < lo || n > hi {
		f.wrong(key, fmt.Sprintf("an integer from %d to %d", lo, hi))
		return lo
	}
	return n
}

func (f *fields) count(key string, lo, hi int64) int { return int(f.integer(key, lo, hi)) }

// toInt takes integers and floats without a fraction (some writers print 4.0).
func toInt(v any) (int64, bool) {
	num, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(num), 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(num), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// floatOr reads a number in lo..hi.
func (f *fields) floatOr(key string, def, lo, hi float64) float64 {
	v, ok := f.m[key]
	if !ok || v == nil {
		return def
	}
	num, ok := v.(json.Number)
	x, err := strconv.ParseFloat(string(num), 64)
	if !ok || err != nil || !(x >= lo && x <= hi) {
		f.wrong(key, fmt.Sprintf("a number from %g to %g", lo, hi))
		return def
	}
	return x
}

func (f *fields) boolOr(key string, def bool) bool {
	v, ok := f.m[key]
	if !ok || v == nil {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		f.wrong(key, "true or false")
	}
	return b
}

func (f *fields) textOr(key, def string) string {
	v, ok := f.m[key]
	if !ok || v == nil {
		return def
	}
	s, ok := v.(string)
	if !ok {
		f.wrong(key, "a string")
	}
	return s
}

// object returns a nested object, nil if absent.
func (f *fields) object(key string) *fields {
	v, ok := f.m[key]
	if !ok || v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		f.wrong(key, "an object")
		return nil
	}
	path := key
	if f.path != "" {
		path = f.path + "." + key
	}
	return &fields{file: f.file, path: path, m: m, err: f.err}
}

// list returns an array, nil if absent.
func (f *fields) list(key string) []any {
	v, ok := f.m[key]
	if !ok || v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		f.wrong(key, "an array")
	}
	return l
}

// ids reads a token id or a list of them, each in 0..below-1; absent gives nil.
func (f *fields) ids(key string, below int64) []int32 {
	v := f.m[key]
	if v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		l = []any{v}
	}
	out := make([]int32, 0, min(len(l), 16))
	for _, e := range l {
		n, ok := toInt(e)
		if !ok || n < 0 || n >= below {
			f.fail(corrupt("%s: got %s, want token ids from 0 to %d", f.name(key), describe(e), below-1))
			return nil
		}
		out = append(out, int32(n))
	}
	return out
}

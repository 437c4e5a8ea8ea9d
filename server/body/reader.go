package body

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// Reader takes members out of one object. A member that is null counts as absent, as in the OpenAI API. The first
// error sticks; after it every getter answers "absent". Close reports it, or the first member that nobody took.
type Reader struct {
	value *Value
	path  string
	taken map[string]bool
	err   *Error
}

// Read returns a Reader of v, which must be an object; path is "" for the body itself.
func Read(v *Value, path string) (*Reader, error) {
	if v.Kind != Object {
		if path == "" {
			return nil, Errorf("", CodeInvalidType, "the request body is %s: a JSON object is needed", v.Kind)
		}
		return nil, Errorf(path, CodeInvalidType, "must be an object, got %s", v.Kind)
	}
	return &Reader{value: v, path: path, taken: make(map[string]bool, len(v.Members))}, nil
}

// Path returns the path of member name.
func (r *Reader) Path(name string) string { return Path(r.path, name) }

// Fail records an error about member name, unless there is one already.
func (r *Reader) Fail(name, code, format string, args ...any) {
	r.Keep(Errorf(r.Path(name), code, format, args...))
}

// Keep records err, unless there is one already; nil is no error.
func (r *Reader) Keep(err *Error) {
	if r.err == nil {
		r.err = err
	}
}

// Err returns the first error so far.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Take returns member name and marks it as known. Absent, null and after an error: false.
func (r *Reader) Take(name string) (*Value, bool) {
	r.taken[name] = true
	if r.err != nil {
		return nil, false
	}
	v, ok := r.value.Get(name)
	if !ok || v.Kind == Null {
		return nil, false
	}
	return v, true
}

// Has reports whether member name is there and not null, without marking it.
func (r *Reader) Has(name string) bool {
	v, ok := r.value.Get(name)
	return ok && v.Kind != Null
}

func (r *Reader) typed(name string, kind Kind) (*Value, bool) {
	v, ok := r.Take(name)
	if ok && v.Kind != kind {
		r.Fail(name, CodeInvalidType, "must be %s, got %s", kind, v.Kind)
		return nil, false
	}
	return v, ok
}

// Str returns a string member.
func (r *Reader) Str(name string) (string, bool) {
	v, ok := r.typed(name, String)
	if !ok {
		return "", false
	}
	return v.Text, true
}

// Needed returns a string member that must be there and not be empty.
func (r *Reader) Needed(name string) string {
	s, _ := r.Str(name)
	if s == "" {
		r.Fail(name, CodeMissing, "is needed")
	}
	return s
}

// Bool returns a boolean member.
func (r *Reader) Bool(name string) (value, given bool) {
	v, ok := r.typed(name, Bool)
	return ok && v.Text == "true", ok
}

// Float returns a finite number within [lo, hi].
func (r *Reader) Float(name string, lo, hi float64) (float64, bool) {
	v, ok := r.typed(name, Number)
	if !ok {
		return 0, false
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		r.Fail(name, CodeInvalidValue, "is no finite number: %s", short(v.Text))
		return 0, false
	}
	if x < lo || x > hi {
		r.Fail(name, CodeInvalidValue, "must be between %v and %v, got %s", lo, hi, short(v.Text))
		return 0, false
	}
	return x, true
}

// Int returns an integer within [lo, hi].
func (r *Reader) Int(name string, lo, hi int64) (int64, bool) {
	v, ok := r.typed(name, Number)
	if !ok {
		return 0, false
	}
	n, err := Integer(v)
	if err != "" {
		r.Fail(name, CodeInvalidValue, "%s", err)
		return 0, false
	}
	if n < lo || n > hi {
		r.Fail(name, CodeInvalidValue, "must be between %d and %d, got %d", lo, hi, n)
		return 0, false
	}
	return n, true
}

// Integer reads a number value as an integer; a fraction of zero (5.0, 5e0) is allowed up to 2^53. The text says what is
// wrong, "" when nothing is.
func Integer(v *Value) (int64, string) {
	if v.Kind != Number {
		return 0, "must be an integer, got " + v.Kind.String()
	}
	if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		return n, ""
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	switch {
	case err != nil || math.Abs(x) > 1<<53:
		return 0, "is out of range: " + short(v.Text)
	case x != math.Trunc(x):
		return 0, "must be an integer, got " + short(v.Text)
	}
	return int64(x), ""
}

// Array returns the items of an array member.
func (r *Reader) Array(name string) ([]*Value, bool) {
	v, ok := r.typed(name, Array)
	if !ok {
		return nil, false
	}
	return v.Items, true
}

// Object returns an object member.
func (r *Reader) Object(name string) (*Value, bool) { return r.typed(name, Object) }

// Reader returns a Reader of an object member.
func (r *Reader) Reader(name string) (*Reader, bool) {
	v, ok := r.typed(name, Object)
	if !ok {
		return nil, false
	}
	inner, err := Read(v, r.Path(name))
	return inner, err == nil
}

// Known lists the names that getters asked for so far, sorted: what the code that reads this object knows of.
func (r *Reader) Known() []string { return slices.Sorted(maps.Keys(r.taken)) }

// Untaken calls f for every member that no getter asked for, in the order sent.
func (r *Reader) Untaken(f func(name string, v *Value)) {
	for _, m := range r.value.Members {
		if !r.taken[m.Name] {
			f(m.Name, m.Value)
		}
	}
}

// Close returns the first error; without one, members that no getter asked for are refused as unknown.
func (r *Reader) Close() error {
	if r.err == nil {
		r.Untaken(func(name string, _ *Value) {
			r.Fail(name, CodeUnknown, "is not a known field here")
		})
	}
	return r.Err()
}

// short keeps a value sent by a client printable in one line.
func short(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}

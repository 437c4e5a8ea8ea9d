package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits bound one rendering. Zero fields take the defaults.
type Limits struct {
	Steps  int // evaluated nodes and loop turns; default 20 million
	Bytes  int // bytes of all values made, living or not; default 1 GiB
	Output int // bytes of the result; default 64 MiB
	Depth  int // nested macro calls and loops; default 100
}

func (l Limits) orDefault() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Steps, 20_000_000)
	set(&l.Bytes, 1<<30)
	set(&l.Output, 64<<20)
	set(&l.Depth, 100)
	return l
}

// Options of a rendering; the zero value is fine.
type Options struct {
	Limits Limits
	Now    func() time.Time // for strftime_now; default time.Now
}

// Render gives the text for the variables, which go through FromGo. Errors are *Error: one that raise_exception made has Raised set;
// one of a limit wraps ErrLimit.
func (t *Template) Render(vars map[string]any) (string, error) { return t.RenderWith(vars, Options{}) }

// RenderWith is Render with options.
func (t *Template) RenderWith(vars map[string]any, o Options) (string, error) {
	r := &run{limits: o.Limits.orDefault(), now: o.Now}
	if r.now == nil {
		r.now = time.Now
	}
	context := &scope{vars: make(map[string]Value, len(vars))}
	for k, v := range vars {
		x, err := FromGo(v)
		if err != nil {
			return "", fmt.Errorf("jinja: variable %q: %w", k, err)
		}
		context.vars[k] = x
	}
	out := &output{limit: r.limits.Output}
	_, err := t.body.exec(r, &scope{parent: context}, out)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			err = &Error{Message: err.Error(), cause: err}
		}
		return "", err
	}
	return out.String(), nil
}

// run is one rendering: what it has used of its limits.
type run struct {
	limits Limits
	now    func() time.Time
	steps  int
	bytes  int
	depth  int
}

// step counts one unit of work.
func (r *run) step() error {
	r.steps++
	if r.steps > r.limits.Steps {
		return overLimit("number of steps", r.limits.Steps)
	}
	return nil
}

// spend counts bytes of a new value, before it is made where its size is known. Work that reads n bytes costs steps too.
func (r *run) spend(n int) error {
	r.steps += n >> 8
	if n > r.limits.Bytes-r.bytes {
		return overLimit("memory in bytes", r.limits.Bytes)
	}
	r.bytes += n
	return nil
}

// down guards recursion; the caller defers up.
func (r *run) down() error {
	r.depth++
	if r.depth > r.limits.Depth {
		return overLimit("depth of calls and loops", r.limits.Depth)
	}
	return nil
}

func (r *run) up() { r.depth-- }

// scope holds the names of one block; lookups go outwards.
type scope struct {
	vars   map[string]Value
	parent *scope
}

func (s *scope) get(id string) (Value, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[id]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) set(id string, v Value) {
	if s.vars == nil {
		s.vars = map[string]Value{}
	}
	s.vars[id] = v
}

// output collects text up to its limit.
type output struct {
	strings.Builder
	limit int
}

func (o *output) put(text string) error {
	if len(text) > o.limit-o.Len() {
		return overLimit("output in bytes", o.limit)
	}
	o.WriteString(text)
	return nil
}

// capture runs a body into a text of its own.
func (r *run) capture(b block, s *scope) (string, signal, error) {
	out := &output{limit: r.limits.Output}
	sig, err := b.exec(r, s, out)
	if err != nil {
		return "", sig, err
	}
	return out.String(), sig, r.spend(out.Len())
}

package jinja

import (
	"fmt"
	"slices"
)

// exec defines the macro: it sees the names around its definition, as they are when it is called.
func (m *macroStmt) exec(_ *run, s *scope, _ *output) (signal, error) {
	s.set(m.name, &function{m.name, func(r *run, a arguments) (Value, error) {
		return m.invoke(r, s, a)
	}})
	return goOn, nil
}

func (m *macroStmt) invoke(r *run, s *scope, a arguments) (Value, error) {
	defer r.up()
	if err := r.down(); err != nil {
		return nil, err
	}
	if len(a.pos) > len(m.params) && !m.catches {
		return nil, fail("macro %q takes not more than %d argument(s), got %d", m.name, len(m.params), len(a.pos))
	}
	inner := &scope{parent: s}
	rest := NewDict()
	for i, k := range a.names {
		p := slices.Index(m.params, k)
		switch {
		case p >= 0 && p < len(a.pos):
			return nil, fail("macro %q got two values for argument %q", m.name, k)
		case p >= 0:
			inner.set(k, a.named[i])
		case m.kwargs:
			rest.Put(k, a.named[i])
		default:
			return nil, fail("macro %q takes no argument %q", m.name, k)
		}
	}
	for i, p := range m.params {
		if i < len(a.pos) {
			inner.set(p, a.pos[i])
			continue
		}
		if _, given := inner.vars[p]; given {
			continue
		}
		var v Value = Undefined{fmt.Sprintf("parameter %q was not provided", p)}
		if m.defaults[i] != nil {
			var err error
			if v, err = m.defaults[i].eval(r, inner); err != nil {
				return nil, at(m.line, err)
			}
		}
		inner.set(p, v)
	}
	if m.catches {
		inner.set("varargs", Tuple(a.pos[min(len(a.pos), len(m.params)):]))
	}
	if m.kwargs {
		inner.set("kwargs", rest)
	}
	text, _, err := r.capture(m.body, inner)
	return text, err
}

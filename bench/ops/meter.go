package ops

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Meter collects what the streams of a Device did. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	phase string
	lines map[key]*Line
}

type key struct{ phase, op, what string }

// Line is one kind of op in one phase.
type Line struct {
	Phase string        `json:"phase"`
	Op    string        `json:"op"`
	What  string        `json:"what,omitempty"` // the weight, layer numbers left out
	Calls int           `json:"calls"`
	Rows  int           `json:"rows"`
	Time  time.Duration `json:"ns"`
	Bytes float64       `json:"bytes"`
	Flops float64       `json:"flops"`
}

// work is what a call stands for.
type work struct {
	rows         int
	bytes, flops float64
}

// Phase names what is done from now on; "" is not recorded.
func (m *Meter) Phase(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = name
}

func (m *Meter) add(op, what string, w work, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase == "" {
		return
	}
	k := key{m.phase, op, what}
	l := m.lines[k]
	if l == nil {
		l = &Line{Phase: m.phase, Op: op, What: what}
		m.lines[k] = l
	}
	l.Calls++
	l.Rows += w.rows
	l.Time += d
	l.Bytes += w.bytes
	l.Flops += w.flops
}

// amend adds bytes that were known only after an op's time was noted.
func (m *Meter) amend(op, what string, bytes float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lines[key{m.phase, op, what}]; l != nil {
		l.Bytes += bytes
	}
}

// Lines lists what was recorded: phases by name, in each the ops that took longest first.
func (m *Meter) Lines() []Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Line
	for _, l := range m.lines {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(b.Time, a.Time), cmp.Compare(a.Op, b.Op), cmp.Compare(a.What, b.What))
	})
	return out
}

// Reset forgets everything.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = map[key]*Line{}
}

// plain is a tensor's name without what says nothing here: the numbers of layers, so that equal weights of all layers are one
// line, and the prefixes of containers.
func plain(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, ".weight"), ".")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	name = strings.Join(parts, ".")
	for _, container := range []string{"model.", "language_model.", "model.", "layers.*."} {
		name = strings.TrimPrefix(name, container)
	}
	return strings.Replace(name, "mtp.layers.*.", "mtp.", 1)
}

// last is the last part of a tensor's name.
func last(name string) string {
	name = plain(name)
	return name[strings.LastIndexByte(name, '.')+1:]
}

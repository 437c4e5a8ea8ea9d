package supervision

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrUnknownActor is returned (wrapped) for a name that is neither a kind nor a path of a living actor.
var ErrUnknownActor = errors.New("unknown actor")

// Info is one actor as GET /v1/actors shows it.
type Info struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Restarts int    `json:"restarts"`
	State    string `json:"state"` // "running", "restarting", "stopped"
}

// entry is an actor's record; it outlives the actor's incarnations.
type entry struct {
	path, kind string
	restarts   atomic.Int64
	state      atomic.Pointer[string]
	fault      atomic.Pointer[Fault] // armed
	received   *atomic.Int64
	busy       *atomic.Int64 // nanoseconds in Receive
	streak     int           // failures with no token committed between them; the supervisor's goroutine only
	progress   int64         // the house's progress when it last failed
}

var (
	running    = "running"
	restarting = "restarting"
	stopped    = "stopped"
)

// Register lists the living actors. It is safe for concurrent use.
type Register struct {
	mu    sync.Mutex
	byID  map[string]*entry
	kinds map[string]*kindStats
}

type kindStats struct {
	received, busy, restarts atomic.Int64
}

// NewRegister returns an empty register.
func NewRegister() *Register {
	return &Register{byID: map[string]*entry{}, kinds: map[string]*kindStats{}}
}

// Add enters a living actor. Entering it again changes nothing.
func (r *Register) Add(path, kind string) { r.add(path, kind) }

func (r *Register) add(path, kind string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.byID[path]; ok {
		return e
	}
	k := r.kinds[kind]
	if k == nil {
		k = &kindStats{}
		r.kinds[kind] = k
	}
	e := &entry{path: path, kind: kind, received: &k.received, busy: &k.busy}
	e.state.Store(&running)
	r.byID[path] = e
	return e
}

func (r *Register) get(path string) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[path]
}

func (r *Register) remove(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, path)
}

func (r *Register) restarted(e *entry) {
	e.restarts.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kinds[e.kind].restarts.Add(1)
}

// List returns the actors, sorted by path.
func (r *Register) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Info, 0, len(r.byID))
	for _, e := range r.byID {
		out = append(out, Info{Path: e.path, Kind: e.kind, Restarts: int(e.restarts.Load()), State: *e.state.Load()})
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// KindStats is what all actors of one kind did since the start.
type KindStats struct {
	Kind     string
	Messages int64
	BusyNano int64
	Restarts int64
}

// Kinds returns the totals by kind, sorted.
func (r *Register) Kinds() []KindStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]KindStats, 0, len(r.kinds))
	for kind, s := range r.kinds {
		out = append(out, KindStats{kind, s.received.Load(), s.busy.Load(), s.restarts.Load()})
	}
	slices.SortFunc(out, func(a, b KindStats) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// Fault makes an actor panic.
type Fault struct {
	Times int                    // how often; 0 is once
	At    func(message any) bool // at which messages; nil: at any
	left  atomic.Int64
}

// strike reports whether the actor is to panic at this message.
func (e *entry) strike(message any) bool {
	f := e.fault.Load()
	if f == nil || f.At != nil && !f.At(message) {
		return false
	}
	left := f.left.Add(-1)
	if left <= 0 {
		e.fault.CompareAndSwap(f, nil)
	}
	return left >= 0
}

// Arm gives an actor a fault, in place of one that has not struck yet. name is a path, or a kind: then the first of that kind by path.
func (r *Register) Arm(name string, f *Fault) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *entry
	for _, e := range r.byID {
		if e.path == name {
			found = e
			break
		}
		if e.kind == name && (found == nil || e.path < found.path) {
			found = e
		}
	}
	if found == nil {
		kinds := make([]string, 0, len(r.kinds))
		for k := range r.kinds {
			kinds = append(kinds, k)
		}
		slices.Sort(kinds)
		return fmt.Errorf("%w %q: want one of %v or a path from /v1/actors", ErrUnknownActor, name, kinds)
	}
	f.left.Store(int64(max(f.Times, 1)))
	found.fault.Store(f)
	return nil
}

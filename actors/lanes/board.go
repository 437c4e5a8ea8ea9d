package lanes

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Verdict is what the install checks said when the model loaded.
type Verdict struct {
	Installed bool
	Reason    string         // why it declined
	Report    map[string]any // variant, pending limit, bindings, bank mode ... as /health shows them
}

// Use is what a lane did in one or more windows.
type Use struct {
	Windows   int64 // windows the lane served off the verify path
	Hits      int64 // ple: rows found in the row cache; qsa: blocks kept from scratch rows
	Misses    int64 // ple: rows read from the table; qsa: blocks pooled from raw keys
	Bytes     int64 // bytes read or written for them
	Waits     int64 // passes that had to wait for the lane
	WaitNanos int64
	FailOvers int64 // windows the pass made inline because the lane could not
}

// Board is the published state of the lanes. Reading it never blocks and never asks an actor.
type Board struct {
	settings Settings
	verdicts [count]Verdict
	bits     atomic.Uint32
	flips    [count]atomic.Int64
	mu       sync.Mutex
	use      [count]Use
}

// NewBoard publishes the state at start: a lane is in force if it is installed and not disabled.
func NewBoard(s Settings, verdicts map[Lane]Verdict) *Board {
	b := &Board{settings: s}
	var bits Bits
	for _, l := range All() {
		b.verdicts[l] = verdicts[l]
		bits = bits.With(l, verdicts[l].Installed && !s.Disabled.Has(l))
	}
	b.bits.Store(uint32(bits))
	return b
}

// Bits is the set of lanes in force now. A round reads it once.
func (b *Board) Bits() Bits { return Bits(b.bits.Load()) }

// Verdict is the install verdict of a lane.
func (b *Board) Verdict(l Lane) Verdict { return b.verdicts[l] }

// set puts a lane in or out of force and reports whether that changed anything. Only the actor calls it.
func (b *Board) set(l Lane, on bool) bool {
	old := b.Bits()
	if old.Has(l) == on {
		return false
	}
	b.bits.Store(uint32(old.With(l, on)))
	b.flips[l].Add(1)
	return true
}

// Add counts what a lane did.
func (b *Board) Add(l Lane, u Use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.use[l]
	t.Windows += u.Windows
	t.Hits += u.Hits
	t.Misses += u.Misses
	t.Bytes += u.Bytes
	t.Waits += u.Waits
	t.WaitNanos += u.WaitNanos
	t.FailOvers += u.FailOvers
}

// Use is what a lane did since the start.
func (b *Board) Use(l Lane) Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.use[l]
}

// Status words of a lane.
const (
	StatusInstalled = "installed" // in force
	StatusOff       = "off"       // installed, switched off
	StatusDeclined  = "declined"  // the pack or machine lacks what it needs; stock path serves
)

// State is a lane as GET /v1/lanes shows it.
type State struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
	Switches int64  `json:"switches"`
	Windows  int64  `json:"windows"`
	Hits     int64  `json:"hits"`
	Misses   int64  `json:"misses"`
	Bytes    int64  `json:"bytes"`
	Waits    int64  `json:"waits"`
	WaitMS   int64  `json:"wait_ms"`
	FailOver int64  `json:"fail_over"`

	Wait time.Duration `json:"-"` // WaitMS, not rounded
}

// State describes a lane now.
func (b *Board) State(l Lane) State {
	u := b.Use(l)
	s := State{Name: l.String(), Enabled: b.Bits().Has(l), Status: b.status(l), Switches: b.flips[l].Load(), Windows: u.Windows,
		Hits: u.Hits, Misses: u.Misses, Bytes: u.Bytes, Waits: u.Waits, WaitMS: u.WaitNanos / 1e6, Wait: time.Duration(u.WaitNanos), FailOver: u.FailOvers}
	switch s.Status {
	case StatusDeclined:
		s.Reason = b.verdicts[l].Reason
	case StatusOff:
		s.Reason = "switched off by message"
		if b.settings.Disabled.Has(l) && s.Switches == 0 {
			s.Reason = "switched off at start"
		}
	}
	return s
}

func (b *Board) status(l Lane) string {
	switch {
	case !b.verdicts[l].Installed:
		return StatusDeclined
	case b.Bits().Has(l):
		return StatusInstalled
	}
	return StatusOff
}

// Defaults is the aux_lane_defaults object of GET /health (design, section 5).
type Defaults struct {
	ModelGate  string                    `json:"model_gate"`
	Lanes      []string                  `json:"lanes"`
	Armed      []string                  `json:"armed_by_default"`
	Off        []KeyValue                `json:"operator_off"`
	Pinned     []KeyValue                `json:"operator_pinned"`
	Disabled   []string                  `json:"disabled_lanes"`
	Engagement map[string]map[string]any `json:"engagement_reports"`
}

// Defaults describes how the lanes were armed at start and how they stand now.
func (b *Board) Defaults() Defaults {
	var installed Bits
	d := Defaults{ModelGate: "qwen4_exp", Lanes: names(), Off: b.settings.OperatorOff, Pinned: b.settings.OperatorPinned,
		Disabled: []string{}, Engagement: map[string]map[string]any{}}
	for _, l := range All() {
		installed = installed.With(l, b.verdicts[l].Installed)
		if b.settings.Disabled.Has(l) {
			d.Disabled = append(d.Disabled, l.String())
		}
		r := maps.Clone(b.verdicts[l].Report)
		if r == nil {
			r = map[string]any{}
		}
		r["lane"] = l.String()
		r["status"] = b.status(l)
		if !b.verdicts[l].Installed {
			r["reason"] = b.verdicts[l].Reason
		}
		u := b.Use(l)
		r["windows"], r["hits"], r["misses"], r["fail_over"] = u.Windows, u.Hits, u.Misses, u.FailOvers
		d.Engagement[l.String()] = r
	}
	if d.Off == nil {
		d.Off = []KeyValue{}
	}
	if d.Pinned == nil {
		d.Pinned = []KeyValue{}
	}
	d.Armed = b.settings.Armed(installed)
	return d
}

// VerdictLine is the one line a lane prints when the model has loaded: its words and, as fields, what it was bound to.
func (b *Board) VerdictLine(l Lane) (text string, fields map[string]any) {
	v := b.verdicts[l]
	fields = map[string]any{"lane": l.String()}
	if !v.Installed {
		return "lane " + l.String() + " declined to stock: " + v.Reason, fields
	}
	for k, x := range v.Report {
		fields[k] = x
	}
	if b.settings.Disabled.Has(l) {
		return "lane " + l.String() + " installed, switched off at start", fields
	}
	return "lane " + l.String() + " armed", fields
}

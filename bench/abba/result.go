package abba

import (
	"fmt"

	"github.com/flashlane/flashlane/bench/stats"
)

// Metric is a figure of a window that arms are compared by.
type Metric struct {
	Name string
	Unit string
	Good stats.Direction
	Of   func(*Window) float64
}

// Metrics are those of a comparison; the first one has the verdict. One that some window could not time is compared in none.
var Metrics = []Metric{
	{"decode", "tok/s", stats.More, func(w *Window) float64 { return w.Decode }},
	{"prefill", "tok/s", stats.More, func(w *Window) float64 { return w.Prefill }},
	{"ttft", "ms", stats.Less, func(w *Window) float64 { return w.TTFT }},
	{"wall", "ms", stats.Less, func(w *Window) float64 { return w.Wall }},
}

// Result is a run in figures.
type Result struct {
	Prompt     int          `json:"prompt_tokens"`
	Output     int          `json:"max_tokens"`
	Arms       []armJSON    `json:"arms"`
	Order      []string     `json:"order"`
	Quiet      float64      `json:"quiet"`     // share of the machine that others may take; 0: any
	Disturbed  int          `json:"disturbed"` // windows in which they took more, in spite of all tries
	Cold       bool         `json:"cold"`      // rows had to come from disk
	Windows    []Window     `json:"windows"`
	Untimed    int          `json:"untimed"` // windows without a decode rate, since all tokens came in one round: decode is not compared
	Comparison []Comparison `json:"comparison"`
	Digests    string       `json:"digests"` // "equal", or what is wrong with them
}

type armJSON struct {
	Name        string `json:"name"`
	What        string `json:"what"`
	Model       string `json:"model"` // this and what follows is what the arm's server says of itself
	Fingerprint string `json:"pack_fingerprint"`
	Device      string `json:"device_kind"`
	Precision   string `json:"precision"`
}

// Comparison is one arm against the controls by one metric.
type Comparison struct {
	Metric  string        `json:"metric"`
	Arm     string        `json:"arm"`
	Seeds   []SeedVersus  `json:"seeds"`
	Verdict stats.Verdict `json:"verdict"`
}

// SeedVersus is one seed of a Comparison.
type SeedVersus struct {
	Seed    uint64  `json:"seed"`
	Control float64 `json:"control"`
	Arm     float64 `json:"arm"`
	Gain    float64 `json:"gain"`
	Noise   float64 `json:"noise"`
	Drift   float64 `json:"drift"`
	Beats   bool    `json:"beats"`
}

// Result compares every arm with the controls. wrong is what Measure said of the digests.
func (r *Run) Result(wrong error) (*Result, error) {
	out := &Result{Prompt: r.Prompt, Output: r.Output, Windows: r.Windows, Quiet: r.Quiet, Cold: r.Cold, Digests: "equal"}
	for _, w := range r.Windows {
		if r.Quiet > 0 && w.Others > r.Quiet {
			out.Disturbed++
		}
	}
	out.Untimed = r.untimed(Metrics[0])
	if wrong != nil {
		out.Digests = wrong.Error()
	}
	for n, a := range r.Arms {
		h := r.Health[n]
		out.Arms = append(out.Arms, armJSON{a.Name, a.What, h.Model, h.Print, h.DeviceKind, h.Precision})
	}
	for _, n := range r.Order {
		out.Order = append(out.Order, r.Arms[n].Name)
	}
	for _, m := range Metrics {
		if r.untimed(m) > 0 {
			continue
		}
		var all []stats.Bracket
		var seeds []uint64
		for from := 0; from+len(r.Order) <= len(r.Windows); from += len(r.Order) {
			var series []stats.Window
			for i := range r.Order {
				w := &r.Windows[from+i]
				series = append(series, stats.Window{Arm: w.arm, Value: m.Of(w)})
			}
			b, err := stats.Compare(series, m.Good)
			if err != nil {
				return nil, fmt.Errorf("abba: %s of seed %d: %w", m.Name, r.Windows[from].Seed, err)
			}
			all, seeds = append(all, b), append(seeds, r.Windows[from].Seed)
		}
		for n := 1; n < len(r.Arms); n++ {
			v, err := stats.Judge(all, n)
			if err != nil {
				return nil, fmt.Errorf("abba: %s of arm %s: %w", m.Name, r.Arms[n].Name, err)
			}
			c := Comparison{Metric: m.Name, Arm: r.Arms[n].Name, Verdict: v}
			for i, b := range all {
				a := b.Arms[n]
				c.Seeds = append(c.Seeds, SeedVersus{seeds[i], b.Control, a.Mean, a.Gain, b.Noise, b.Drift, a.Beats})
			}
			out.Comparison = append(out.Comparison, c)
		}
	}
	return out, nil
}

// untimed is how many windows a metric has no figure of.
func (r *Run) untimed(m Metric) (n int) {
	for i := range r.Windows {
		if !(m.Of(&r.Windows[i]) > 0) {
			n++
		}
	}
	return n
}

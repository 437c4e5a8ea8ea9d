package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flashlane/flashlane/bench/ops"
	"github.com/flashlane/flashlane/bench/report"
)

// Report is a Run against the machine's roofs.
type Report struct {
	report.Setup
	Model     string    `json:"model"`
	Device    string    `json:"device_kind"`
	Precision string    `json:"precision"`
	Kernels   string    `json:"kernels"`
	Weights   int64     `json:"weight_bytes"`
	Parts     bool      `json:"parts"` // fused ops were done as their parts
	Depth     int       `json:"depth"`
	Chunk     int       `json:"prefill_chunk"`
	Roofs     ops.Roofs `json:"roofs"`
	Runs      int       `json:"runs"`
	Prompt    int       `json:"prompt_tokens"` // per run
	Tokens    int       `json:"tokens"`        // per run
	Rounds    float64   `json:"rounds"`        // per run
	Prefill   float64   `json:"prefill_tok_s"` // priming of the drafter included
	Decode    float64   `json:"decode_tok_s"`
	Phases    []Phase   `json:"phases"`
}

// Phase is one phase, per run.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	InOps   float64 `json:"in_ops"` // share of the time that is in ops; the rest is between them
	Roof    float64 `json:"roof"`   // share of the time that the roofs say the ops need at least
	Ops     []Op    `json:"ops"`
}

// Op is one kind of op, per run.
type Op struct {
	Op      string  `json:"op"`
	What    string  `json:"what,omitempty"`
	Calls   float64 `json:"calls"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"` // of the phase
	Bytes   float64 `json:"bytes"`
	Flops   float64 `json:"flops"`
	GBs     float64 `json:"gb_s"`
	GFlops  float64 `json:"gflop_s"`
	Roof    float64 `json:"roof"`  // share of the op's time that its bytes or its operations need at least
	Bound   string  `json:"bound"` // memory or arithmetic: which of the two is the longer
}

// Against fills the figures in.
func (r *Report) Against(run *Run, roofs ops.Roofs) {
	n := float64(run.Runs)
	r.Roofs, r.Runs, r.Prompt, r.Tokens, r.Rounds = roofs, run.Runs, run.Prompt/run.Runs, run.Tokens/run.Runs, float64(run.Rounds)/n
	r.Prefill = rate(run.Prompt, run.Wall["prefill"]+run.Wall["prime"])
	r.Decode = rate(run.Tokens, run.Wall["draft"]+run.Wall["verify"]+run.Wall["commit"])
	for _, name := range phases {
		wall := run.Wall[name].Seconds()
		if wall == 0 {
			continue
		}
		p := Phase{Name: name, Seconds: wall / n}
		for _, l := range run.Ops {
			if l.Phase != name {
				continue
			}
			t, least := l.Time.Seconds(), roofs.Seconds(l.Bytes, l.Flops)
			o := Op{Op: l.Op, What: l.What, Calls: float64(l.Calls) / n, Seconds: t / n, Share: t / wall, Bytes: l.Bytes / n, Flops: l.Flops / n,
				GBs: l.Bytes / t / 1e9, GFlops: l.Flops / t / 1e9, Roof: least / t, Bound: "memory"}
			if l.Flops/(1e9*roofs.Peak) > l.Bytes/roofs.Bandwidth() {
				o.Bound = "arithmetic"
			}
			p.InOps += o.Share
			p.Roof += least / wall
			p.Ops = append(p.Ops, o)
		}
		r.Phases = append(r.Phases, p)
	}
}

func rate(tokens int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(tokens) / d.Seconds()
}

// Markdown is the report as text.
func (r *Report) Markdown() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# Op by op\n\n%s\n", r.Setup)
	fused := "fused ops as one line"
	if r.Parts {
		fused = "fused ops done as their parts"
	}
	fmt.Fprintf(b, "Model %s (%.1f MB on the device) on %s, precision %s, kernels %s; prompt of %d tokens in chunks of %d, then %d tokens at temperature 0, depth %d, in %.0f rounds; mean of %d runs after one to warm up; %s. Without actors, text and HTTP, and with every op timed.\n\n",
		r.Model, float64(r.Weights)/1e6, r.Device, r.Precision, r.Kernels, r.Prompt, r.Chunk, r.Tokens+1, r.Depth, r.Rounds, r.Runs, fused)
	fmt.Fprintf(b, "Prefill %.0f tok/s, decode %.0f tok/s.\n\n", r.Prefill, r.Decode)
	roofs := report.Table{Head: []string{"roof", "all threads", "one thread"}}
	roofs.Row(fmt.Sprintf("triad, 3 x 64 MiB, GB/s (%d threads)", r.Roofs.Threads), fmt.Sprintf("%.1f", r.Roofs.Triad), "")
	roofs.Row(fmt.Sprintf("reading %.0f MB, GB/s", float64(r.Roofs.ReadSize)/1e6), fmt.Sprintf("%.1f", r.Roofs.Read), fmt.Sprintf("%.1f", r.Roofs.OneRead))
	roofs.Row("multiply-add, "+r.Roofs.Kind+", GFLOP/s", fmt.Sprintf("%.0f", r.Roofs.Peak), fmt.Sprintf("%.0f", r.Roofs.OnePeak))
	b.WriteString(roofs.String())
	b.WriteString("\nThe roof of an op is the longer of its bytes at the better bandwidth and its operations at the peak, as a share of the time it took.\n\n")
	t := report.Table{Head: []string{"phase", "ms", "in ops", "roof"}}
	for _, p := range r.Phases {
		t.Row(p.Name, fmt.Sprintf("%.2f", 1e3*p.Seconds), percent(p.InOps), percent(p.Roof))
	}
	b.WriteString(t.String())
	for _, p := range r.Phases {
		fmt.Fprintf(b, "\n## %s\n\n%s", p.Name, p.table())
	}
	return b.String()
}

// table has a line per op, longest first, and one for those that take less than half a percent.
func (p *Phase) table() *report.Table {
	t := &report.Table{Head: []string{"op", "of", "calls", "us each", "share", "MB", "GB/s", "GFLOP/s", "roof", "bound"}}
	rest, calls := 0.0, 0.0
	for _, o := range slices.SortedFunc(slices.Values(p.Ops), func(a, b Op) int { return cmp.Compare(b.Seconds, a.Seconds) }) {
		if o.Share < 0.005 {
			rest, calls = rest+o.Seconds, calls+o.Calls
			continue
		}
		t.Row(o.Op, o.What, fmt.Sprintf("%.0f", o.Calls), fmt.Sprintf("%.1f", 1e6*o.Seconds/o.Calls), percent(o.Share),
			fmt.Sprintf("%.2f", o.Bytes/1e6), fmt.Sprintf("%.1f", o.GBs), fmt.Sprintf("%.1f", o.GFlops), percent(o.Roof), o.Bound)
	}
	if calls > 0 {
		t.Row("others", "", fmt.Sprintf("%.0f", calls), fmt.Sprintf("%.1f", 1e6*rest/calls), percent(rest/p.Seconds), "", "", "", "", "")
	}
	t.Row("between ops", "", "", "", percent(1-p.InOps), "", "", "", "", "")
	return t
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

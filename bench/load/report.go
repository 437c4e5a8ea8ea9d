package load

import (
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/bench/chart"
	"github.com/flashlane/flashlane/bench/report"
	"github.com/flashlane/flashlane/bench/stats"
)

// Report is what `bench load` measured: one result per number of clients or rate.
type Report struct {
	report.Setup
	Model     string    `json:"model"`
	Device    string    `json:"device_kind"`
	Precision string    `json:"precision"`
	Slots     int       `json:"slots"`
	Seed      uint64    `json:"seed"`
	Prompt    string    `json:"prompt_law"`
	Output    string    `json:"output_law"`
	Shared    float64   `json:"prefix_shared"`
	Ask       string    `json:"sampling"`
	Results   []*Result `json:"results"`
	Arrival   *Arrival  `json:"long_prompt,omitempty"`
}

// Markdown is the report as text.
func (r *Report) Markdown() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# Load\n\n%s\n", r.Setup)
	fmt.Fprintf(b, "Model %s on %s, precision %s, %d requests worked on at once; %s. Prompts: %s templated tokens (checked), of which a share of %g is common to all; answers: %s tokens; seed %d.\n",
		r.Model, r.Device, r.Precision, r.Slots, r.Ask, r.Prompt, r.Shared, r.Output, r.Seed)
	if len(r.Results) > 0 {
		b.WriteString("\n" + r.table().String())
		b.WriteString("\nTTFT counts from when a request was sent (closed loop) or due (open loop) to its first text; a gap is the time between two chunks with text of one answer, and a chunk holds what one round gave. Rates are over the whole run. Others is the share of the machine's processor time that went to something else than the server's process.\n")
	}
	for _, s := range r.Results {
		fmt.Fprintf(b, "\n- %s: %d of %d finished (%s); errors: %s; %d of %d prompt tokens cached", s.Name, s.Finished, s.Requests, s.FinishLine(), s.ErrorLine(), s.Cached, s.Prompt)
		if s.Reused >= 0 && s.Reused != s.Cached {
			fmt.Fprintf(b, " (**%d** by the server's counter)", s.Reused)
		}
		if s.Rate > 0 {
			fmt.Fprintf(b, "; sent late by %.1f ms (p95)", s.Late.P95)
		}
		for _, e := range s.Examples {
			fmt.Fprintf(b, "\n  - for instance %s", e)
		}
	}
	if len(r.Results) > 0 {
		b.WriteString("\n")
	}
	if a := r.Arrival; a != nil {
		fmt.Fprintf(b, "\n## A prompt of %d tokens arrives while %d streams run\n\n", a.Prompt, a.Streams)
		t := report.Table{Head: []string{"gaps of the running streams", "n", "p50 ms", "p95 ms", "p99 ms", "max ms"}}
		row := func(name string, s stats.Summary) {
			t.Row(name, fmt.Sprint(s.N), f2(s.P50), f2(s.P95), f2(s.P99), f2(s.Max))
		}
		row("before", a.Before)
		row("until its first text", a.During)
		met := "met"
		if !a.Met {
			met = "**not met**"
		}
		fmt.Fprintf(b, "%s\np95 during is %.2f times p95 before; the aim of at most %g is %s. Its own first text came after %.0f ms; %d streams failed.\n", &t, a.Ratio, a.RatioLimit, met, a.TTFT, a.Errors)
	}
	return b.String()
}

func others(share float64) string {
	if share < 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func f2(x float64) string { return fmt.Sprintf("%.2f", x) }

func (r *Report) table() *report.Table {
	t := &report.Table{Head: []string{"load", "finished", "errors", "tok/s", "prompt tok/s", "TTFT p50 ms", "p95", "p99", "gap p50 ms", "p95", "p99", "wall s", "others"}}
	for _, s := range r.Results {
		failed := 0
		for _, n := range s.Errors {
			failed += n
		}
		t.Row(s.Name, fmt.Sprint(s.Finished), fmt.Sprint(failed), fmt.Sprintf("%.0f", s.Total), fmt.Sprintf("%.0f", s.TotalIn),
			f2(s.TTFT.P50), f2(s.TTFT.P95), f2(s.TTFT.P99), f2(s.Gap.P50), f2(s.Gap.P95), f2(s.Gap.P99), f2(s.Wall), others(s.Others))
	}
	return t
}

// Chart shows how TTFT and gaps are distributed, and the rate by load when there are several.
func (r *Report) Chart() (string, error) {
	f := chart.Figure{Title: "Load: what clients met", Notes: []string{
		fmt.Sprintf("prompts %s, answers %s tokens, %g of each prompt common; %s", r.Prompt, r.Output, r.Shared, r.Ask),
		strings.TrimSpace(fmt.Sprintf("%s, %d cores, load before %s. %s", r.CPU, r.Cores, r.Load, r.Note)),
	}}
	ttft := chart.Panel{Title: "time to first text", X: "ms", Y: "% of requests", LogX: true, FromY0: true}
	gaps := chart.Panel{Title: "gap between chunks", X: "ms", Y: "% of gaps", LogX: true, FromY0: true}
	add := func(p *chart.Panel, name string, xs []float64) {
		if len(xs) > 0 {
			p.Lines = append(p.Lines, chart.Distribution(name, xs, 0.01))
		}
	}
	rates := chart.Panel{Title: "generated tokens in all", X: "load", Y: "tok/s", FromY0: true}
	rate := chart.Line{Name: "tok/s of all clients", Points: true}
	for i, s := range r.Results {
		add(&ttft, s.Name, s.ttft)
		add(&gaps, s.Name, s.gaps)
		rates.Ticks = append(rates.Ticks, s.Name)
		rate.X, rate.Y = append(rate.X, float64(i)), append(rate.Y, s.Total)
	}
	if a := r.Arrival; a != nil {
		add(&gaps, "before the long prompt", a.before)
		add(&gaps, "until its first text", a.during)
	}
	rates.Lines = []chart.Line{rate}
	if len(ttft.Lines) > 0 {
		f.Panels = append(f.Panels, ttft)
	}
	if len(gaps.Lines) > 0 {
		f.Panels = append(f.Panels, gaps)
	}
	if len(r.Results) > 1 {
		f.Panels = append(f.Panels, rates)
	}
	return f.SVG()
}

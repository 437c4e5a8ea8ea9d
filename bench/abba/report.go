package abba

import (
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/bench/chart"
	"github.com/flashlane/flashlane/bench/report"
)

// Markdown is the result as text.
func (r *Result) Markdown(title string, setup report.Setup) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# %s\n\n%s\n", title, setup)
	fmt.Fprintf(b, "Prompts of %d templated tokens, prefilled from cold, and answers of up to %d. Windows per seed: %s.\n\n",
		r.Prompt, r.Output, strings.Join(r.Order, ", "))
	for _, a := range r.Arms {
		fmt.Fprintf(b, "- **%s**: %s; model %s on %s, precision %s\n", a.Name, a.What, a.Model, a.Device, a.Precision)
	}
	b.WriteString("\n## Windows\n\n" + r.windows().String())
	b.WriteString("\nPrefill is prompt tokens over the server's prefill time; decode, TTFT and wall are the client's. CPU is the processor time of the server's process; others is the share of the machine that went elsewhere, and windows in which that was too much were measured again, whatever they gave.\n")
	b.WriteString("\n## Rows\n\n" + r.rows().String())
	b.WriteString("\nRead is the time that gathers of n-gram rows took: in the passes on the stock path, beside them with the lane. Waits are the passes' for planes and for banks. Cold reads waited for a disk; a quantised row is three reads.\n")
	if r.Disturbed > 0 {
		fmt.Fprintf(b, "\n**%d of %d windows stayed disturbed**: others took more than %.0f %% of the machine in every try.\n", r.Disturbed, len(r.Windows), 100*r.Quiet)
	}
	if r.Untimed > 0 {
		fmt.Fprintf(b, "\n**%d of %d windows have no decode rate**: all tokens of an answer came in one round. Decode is not compared; "+
			"ask for more tokens or a lower depth.\n", r.Untimed, len(r.Windows))
	}
	b.WriteString("\n## Digests\n\n")
	if r.Digests == "equal" {
		b.WriteString("Equal in all windows of a seed. Empty texts are no evidence.\n\n" + r.digests().String())
	} else {
		b.WriteString("**Not equal**, so that the figures prove nothing:\n\n" + r.Digests + "\n\n" + r.digests().String())
	}
	b.WriteString("\n## Arms against the bracketed control\n\n" + r.comparison().String())
	b.WriteString("\nGain is the mean of an arm's windows against the mean of the control windows around them, above 0 is better; noise is the spread of the control windows.\n")
	b.WriteString("\n## Verdict\n\n")
	for _, c := range r.Comparison {
		fmt.Fprintf(b, "- %s of **%s**: **%s** (%s; by seed %+.1f %% to %+.1f %%; every window beats every control window: %s)\n",
			c.Metric, c.Arm, c.Verdict.Kind, c.Verdict.Why, 100*c.Verdict.Low, 100*c.Verdict.High, yes(c.Verdict.Beats))
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (r *Result) windows() *report.Table {
	t := &report.Table{Head: []string{"seed", "arm", "prefill tok/s", "decode tok/s", "TTFT ms", "wall ms", "CPU s", "others", "tries", "peak MiB", "tokens (finish)", "rounds"}}
	for _, w := range r.Windows {
		t.Row(fmt.Sprint(w.Seed), w.Arm, fmt.Sprintf("%.0f", w.Prefill), decode(&w), fmt.Sprintf("%.1f", w.TTFT), fmt.Sprintf("%.0f", w.Wall),
			fmt.Sprintf("%.2f", w.CPU), others(w.Others), fmt.Sprint(w.Tries), fmt.Sprintf("%.0f", float64(w.Peak)/(1<<20)), fmt.Sprintf("%d (%s)", w.Tokens, w.Finish), fmt.Sprint(w.Rounds))
	}
	return t
}

// decode is the rate, or a dash where there is none.
func decode(w *Window) string {
	if w.Decode == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", w.Decode)
}

// rows tells what reading n-gram rows took, and what of that passes waited for.
func (r *Result) rows() *report.Table {
	t := &report.Table{Head: []string{"seed", "arm", "cold reads", "read ms", "waits for planes", "ms", "waits for banks", "ms"}}
	for _, w := range r.Windows {
		p, q := w.Work["ple_cached_aux"], w.Work["qsa_pooled_rowsel"]
		t.Row(fmt.Sprint(w.Seed), w.Arm, fmt.Sprint(w.Cold), fmt.Sprintf("%.1f", w.Read), fmt.Sprint(p.Waits), fmt.Sprintf("%.1f", p.WaitMS), fmt.Sprint(q.Waits), fmt.Sprintf("%.1f", q.WaitMS))
	}
	return t
}

func others(share float64) string {
	if share < 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// digests has one line per window that differs from the one before it in its seed, so one per seed if all is well.
func (r *Result) digests() *report.Table {
	t := &report.Table{Head: []string{"seed", "windows", "tokens", "reasoning", "text"}}
	for i := 0; i < len(r.Windows); {
		w, n := r.Windows[i], 1
		for i+n < len(r.Windows) {
			o := r.Windows[i+n]
			if o.Seed != w.Seed || o.TokensSHA != w.TokensSHA || o.ReasoningSHA != w.ReasoningSHA || o.TextSHA != w.TextSHA {
				break
			}
			n++
		}
		t.Row(fmt.Sprint(w.Seed), fmt.Sprint(n), short(w.TokensSHA), short(w.ReasoningSHA), short(w.TextSHA))
		i += n
	}
	return t
}

func (r *Result) comparison() *report.Table {
	t := &report.Table{Head: []string{"metric", "arm", "seed", "control", "with", "gain", "noise", "drift", "every window beats"}}
	for _, c := range r.Comparison {
		for _, s := range c.Seeds {
			t.Row(c.Metric, c.Arm, fmt.Sprint(s.Seed), fmt.Sprintf("%.1f", s.Control), fmt.Sprintf("%.1f", s.Arm), percent(s.Gain), fmt.Sprintf("%.1f %%", 100*s.Noise), percent(s.Drift), yes(s.Beats))
		}
		v := c.Verdict
		t.Row(c.Metric, c.Arm, "all", "", "", percent(v.Gain), fmt.Sprintf("%.1f %%", 100*v.Noise), "", yes(v.Beats))
	}
	return t
}

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// Chart shows the windows in the order of time, one line per seed: decode and prefill rates.
func (r *Result) Chart(title string, setup report.Setup) (string, error) {
	f := chart.Figure{Title: title, Notes: []string{
		fmt.Sprintf("%d prompt and up to %d answer tokens, one line per seed, windows in the order of time", r.Prompt, r.Output),
		strings.TrimSpace(fmt.Sprintf("%s, %d cores, load before %s. %s", setup.CPU, setup.Cores, setup.Load, setup.Note)),
	}}
	for _, m := range Metrics[:2] {
		if m.Name == "decode" && r.Untimed > 0 {
			continue
		}
		p := chart.Panel{Title: m.Name, X: "window", Y: m.Unit, Ticks: r.Order}
		for from := 0; from+len(r.Order) <= len(r.Windows); from += len(r.Order) {
			l := chart.Line{Name: fmt.Sprintf("seed %d", r.Windows[from].Seed), Points: true}
			for i := range r.Order {
				l.X, l.Y = append(l.X, float64(i)), append(l.Y, m.Of(&r.Windows[from+i]))
			}
			p.Lines = append(p.Lines, l)
		}
		f.Panels = append(f.Panels, p)
	}
	return f.SVG()
}

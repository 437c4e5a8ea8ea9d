package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/flashlane/flashlane/bench/stats"
)

// Result is a Run in figures. Times are in milliseconds, rates in tokens per second over the whole run.
type Result struct {
	Name     string         `json:"name"` // "8 clients", "5 requests/s"
	Clients  int            `json:"clients,omitempty"`
	Rate     float64        `json:"rate,omitempty"`
	Requests int            `json:"requests"`
	Finished int            `json:"finished"`
	Others   float64        `json:"others"` // share of the machine that went elsewhere, -1 if not known
	Finish   map[string]int `json:"finish"`
	Errors   map[string]int `json:"errors"`
	Examples []string       `json:"error_examples,omitempty"` // one per kind of error
	Wall     float64        `json:"wall_s"`
	Prompt   int            `json:"prompt_tokens"`
	Cached   int            `json:"cached_tokens"`
	Reused   int            `json:"cached_tokens_counter"` // the same by the server's counter, failed requests too; -1: it has none
	Tokens   int            `json:"completion_tokens"`
	Rounds   int            `json:"rounds"`
	Total    float64        `json:"completion_tok_s"`
	TotalIn  float64        `json:"prompt_tok_s"`
	TTFT     stats.Summary  `json:"ttft_ms"`
	Gap      stats.Summary  `json:"gap_ms"`
	WholeMS  stats.Summary  `json:"request_ms"`
	Late     stats.Summary  `json:"late_ms"`

	ttft, gaps []float64
}

// Result sums a run up. Percentiles are of requests that ended well; the others are under Errors.
func (r *Run) Result() *Result {
	s := &Result{Clients: r.Clients, Rate: r.Rate, Requests: len(r.Outcomes), Finish: map[string]int{}, Errors: map[string]int{}, Wall: r.Wall.Seconds(), Reused: r.Reused, Others: r.Others}
	s.Name = fmt.Sprintf("%d clients", r.Clients)
	switch {
	case r.Rate > 0:
		s.Name = fmt.Sprintf("%g requests/s", r.Rate)
	case r.Clients == 1:
		s.Name = "1 client"
	}
	var whole, late []float64
	for _, o := range r.Outcomes {
		late = append(late, o.Late)
		if o.Error != "" {
			if s.Errors[o.Error]++; s.Errors[o.Error] == 1 {
				s.Examples = append(s.Examples, o.Error+": "+o.Detail)
			}
			continue
		}
		if o.Finish == "" { // never sent: the run was interrupted
			s.Errors["not sent"]++
			continue
		}
		s.Finished++
		s.Finish[o.Finish]++
		s.Prompt, s.Cached, s.Tokens, s.Rounds = s.Prompt+o.Prompt, s.Cached+o.Cached, s.Tokens+o.Tokens, s.Rounds+o.Rounds
		whole = append(whole, o.Wall)
		if o.TTFT > 0 {
			s.ttft = append(s.ttft, o.TTFT)
		}
		s.gaps = append(s.gaps, o.Gaps...)
	}
	s.TTFT, s.Gap, s.WholeMS, s.Late = stats.Summarise(s.ttft), stats.Summarise(s.gaps), stats.Summarise(whole), stats.Summarise(late)
	if s.Wall > 0 {
		s.Total, s.TotalIn = float64(s.Tokens)/s.Wall, float64(s.Prompt)/s.Wall
	}
	return s
}

// ErrorLine is the error counts in one line, "none" if there are none.
func (s *Result) ErrorLine() string { return counts(s.Errors) }

// FinishLine is the counts of finish reasons in one line.
func (s *Result) FinishLine() string { return counts(s.Finish) }

func counts(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	out := ""
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%d %s", m[k], k)
	}
	return out
}

package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/stats"
)

// Arrival is what running streams felt of a long prompt that arrived.
type Arrival struct {
	Streams    int           `json:"streams"`
	Prompt     int           `json:"prompt_tokens"`
	TTFT       float64       `json:"ttft_ms"` // of the long prompt
	Before     stats.Summary `json:"gap_before_ms"`
	During     stats.Summary `json:"gap_during_ms"` // from its arrival to its first text
	Ratio      float64       `json:"p95_ratio"`     // during over before
	RatioLimit float64       `json:"p95_ratio_aim"`
	Met        bool          `json:"met"`
	Errors     int           `json:"errors"`

	before, during []float64
}

// RatioLimit is the aim for Arrival.Ratio.
const RatioLimit = 3

// LongPrompt keeps so many streams running from a plan (begun again when it is used up), measures their gaps for settle,
// sends the long request, and measures their gaps until its first text. A gap belongs to where it ends, and to "during" if
// any of it lies there: the stall that the arrival itself causes must not fall between.
func LongPrompt(ctx context.Context, c *client.Client, plan []Request, long *Request, streams int, settle time.Duration) (*Arrival, error) {
	if streams < 1 || len(plan) < streams {
		return nil, fmt.Errorf("load: long prompt: got %d planned requests for %d streams, want at least as many", len(plan), streams)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu     sync.Mutex
		gaps   []gap
		failed atomic.Int64
		begun  atomic.Int64
		next   atomic.Int64
		all    sync.WaitGroup
	)
	for range streams {
		all.Go(func() {
			first := true
			for ctx.Err() == nil {
				var last time.Time
				r := &plan[int(next.Add(1)-1)%len(plan)]
				o := ask(ctx, c, r, time.Now(), func(at time.Time) {
					if first {
						first = false
						begun.Add(1)
					}
					if !last.IsZero() {
						mu.Lock()
						gaps = append(gaps, gap{last, at})
						mu.Unlock()
					}
					last = at
				})
				if o.Error != "" && ctx.Err() == nil {
					failed.Add(1)
					return
				}
			}
		})
	}
	finish := func() { stop(); all.Wait() }
	defer finish()
	for begun.Load() < int64(streams) {
		if err := client.Pause(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
		if failed.Load() > 0 {
			return nil, fmt.Errorf("load: long prompt: a stream failed before it began")
		}
	}
	from := time.Now()
	if err := client.Pause(ctx, settle); err != nil {
		return nil, err
	}
	sent := time.Now()
	answer, err := c.Chat(ctx, &long.Ask, nil)
	if err != nil {
		return nil, fmt.Errorf("load: long prompt: %w", err)
	}
	finish()
	switch {
	case answer.Prompt != long.Prompt:
		return nil, fmt.Errorf("load: long prompt: it was made to have %d tokens, the server counted %d", long.Prompt, answer.Prompt)
	case answer.Cached > 0:
		return nil, fmt.Errorf("load: long prompt: %d of its %d tokens came from the prefix cache: nothing is proved", answer.Cached, answer.Prompt)
	case len(answer.Marks) == 0:
		return nil, fmt.Errorf("load: long prompt: its answer has no text")
	}
	a := &Arrival{Streams: streams, Prompt: long.Prompt, TTFT: ms(answer.TTFT()), Errors: int(failed.Load()), RatioLimit: RatioLimit}
	return a, a.split(gaps, from, sent, sent.Add(answer.TTFT()))
}

type gap struct{ from, to time.Time }

// split sorts gaps by when they were.
func (a *Arrival) split(gaps []gap, from, sent, first time.Time) error {
	for _, g := range gaps {
		d := ms(g.to.Sub(g.from))
		switch {
		case g.to.Before(from) || g.from.After(first):
		case !g.to.After(sent):
			a.before = append(a.before, d)
		default:
			a.during = append(a.during, d)
		}
	}
	a.Before, a.During = stats.Summarise(a.before), stats.Summarise(a.during)
	if a.Before.N < 20 || a.During.N < 20 {
		return fmt.Errorf("load: long prompt: %d gaps before and %d during it are too few for a 95th percentile: make the streams or the prompt longer", a.Before.N, a.During.N)
	}
	a.Ratio = a.During.P95 / a.Before.P95
	a.Met = a.Ratio <= RatioLimit
	return nil
}

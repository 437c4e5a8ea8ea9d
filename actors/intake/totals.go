package intake

import (
	"sync"
	"time"

	"github.com/flashlane/flashlane/actors/round"
)

// Totals sums what finished rounds and requests did, for metrics. It is safe for concurrent use.
type Totals struct {
	mu sync.Mutex
	t  Sums
}

// Sums is a copy of the totals since the start.
type Sums struct {
	Requests  map[string]int64 // by outcome: stop, length, tool_calls, cancelled, failed
	Rounds    int64
	Tokens    int64 // generated
	Prompt    int64 // prompt tokens prefilled
	Rebuilds  int64
	RoundTime time.Duration // from Draft sent to Committed received
	DraftTime time.Duration // in the drafter's passes
	PassTime  time.Duration // in the verifier's passes, waits included
}

func (t *Totals) outcome(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.t.Requests == nil {
		t.t.Requests = map[string]int64{}
	}
	t.t.Requests[name]++
}

func (t *Totals) rebuild() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t.Rebuilds++
}

func (t *Totals) prefilled(tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t.Prompt += int64(tokens)
}

func (t *Totals) first() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t.Tokens++
}

func (t *Totals) round(tokens int, took time.Duration, x round.Times) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.t.Rounds++
	t.t.Tokens += int64(tokens)
	t.t.RoundTime += took
	t.t.DraftTime += x.Draft
	t.t.PassTime += x.Verify
}

// Sums copies the totals.
func (t *Totals) Sums() Sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.t
	s.Requests = make(map[string]int64, len(t.t.Requests))
	for k, v := range t.t.Requests {
		s.Requests[k] = v
	}
	return s
}

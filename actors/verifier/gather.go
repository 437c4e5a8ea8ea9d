package verifier

import (
	"time"

	"github.com/flashlane/flashlane/actors/round"
)

// patience is how long the next pass waits at most for sequences that are on their way back: a fraction of what a row of
// its own costs in a pass that runs without them.
const patience = 250 * time.Microsecond

// gathering keeps sequences in step. Rounds without drafts come back a few microseconds after their pass, one by one; if the first
// to come were run at once, it would run alone, the others would wait for it, and so on for good: one in a pass and seven in the next, each pass
// reading the whole model. Rounds with drafts take a pass of the drafter's to come back, and are not waited for.
//
// It decides only who runs beside whom, never what comes out. It holds no actor.
type gathering struct {
	due   map[*round.Ticket]struct{} // ran without drafts and are not back yet
	ended time.Time                  // of the last pass
}

// runs notes who will be on the way back when the pass that starts now has ended.
func (g *gathering) runs(batch []Verify) {
	if g.due == nil {
		g.due = map[*round.Ticket]struct{}{}
	}
	for _, v := range batch {
		if len(v.Drafts) == 0 {
			g.due[v.Ticket] = struct{}{}
		}
	}
}

// rests notes the end of a pass. Some of its sequences may be back before it is told.
func (g *gathering) rests(now time.Time) { g.ended = now }

// back notes that a sequence waits for its next pass.
func (g *gathering) back(t *round.Ticket) { delete(g.due, t) }

// wait reports whether the next pass is to wait for more. Whoever did not come in time is not waited for again until it has run.
func (g *gathering) wait(now time.Time) bool {
	for t := range g.due {
		if t.Dead() {
			delete(g.due, t)
		}
	}
	if len(g.due) > 0 && now.Sub(g.ended) >= patience {
		clear(g.due)
	}
	return len(g.due) > 0
}

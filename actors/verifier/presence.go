package verifier

import "github.com/flashlane/flashlane/actors/round"

// presence counts the sequences that decode now, also those that are with their session or the drafter between two rounds. One that
// stays away longer than a turn of all the others, twice, is not counted: its reader is slow, or it is over. The zero value is ready.
type presence struct {
	passes int
	seen   map[*round.Ticket]int // the pass it last came for
}

// see notes that a sequence has come for a pass.
func (p *presence) see(t *round.Ticket) {
	if p.seen == nil {
		p.seen = map[*round.Ticket]int{}
	}
	p.seen[t] = p.passes
}

// pass notes that a pass starts.
func (p *presence) pass() { p.passes++ }

// count is how many sequences are there.
func (p *presence) count() int {
	away := 2*len(p.seen) + 2
	for t, at := range p.seen {
		if t.Dead() || p.passes-at > away {
			delete(p.seen, t)
		}
	}
	return len(p.seen)
}

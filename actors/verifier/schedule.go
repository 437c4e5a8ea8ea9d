package verifier

import (
	"slices"

	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/gate"
)

// scoreRows bounds the rows of a chunk whose logits are all wanted: a row of them is a whole vocabulary.
const scoreRows = 32

// prefill is a prompt on its way through the trunk.
type prefill struct {
	Prefill
	next   int          // first position not yet run
	to     int          // where the chunk that starts at next ends; fixed when it is staged
	window *stager.Loan // staged for the next chunk; nil: made inline
	banks  []*gate.Gate // what the indexers owe after the last chunk
	lag    int          // chunks handed to the drafter and not yet primed
	busy   bool         // a pass for it runs
	chunks int          // passes so far
	fails  [2]int       // fail-overs by lane
	times  round.Times
}

// Fail loses the prefill and gives back the window that was staged for its next chunk.
func (p *prefill) Fail(err error) {
	p.window.Back()
	p.Prefill.Fail(err)
}

// end is where the next chunk ends: at an absolute multiple of chunk, at a mark, at the end of the prompt class, or at the
// last row, so that how a prompt is cut depends on positions only.
func (p *prefill) end(from, chunk int) int {
	if p.Score {
		chunk = min(chunk, scoreRows)
	}
	to := min((from/chunk+1)*chunk, p.Rows)
	if prompt := p.Ticket.Settings.Prompt; from < prompt {
		to = min(to, prompt)
	}
	for _, mark := range p.Marks {
		if from < mark {
			return min(to, mark)
		}
	}
	return to
}

// mayRun reports whether the drafter has kept up: at most one chunk of kept streams may wait for it.
func (p *prefill) mayRun() bool { return !p.busy && p.lag <= 1 }

// schedule decides what the verifier runs next: drafts of all waiting sequences side by side, and prompt chunks, by turns
// when both wait. It holds no actor and no device.
type schedule struct {
	chunk   int // rows of a prefill chunk while nobody else waits
	mixed   int // rows of a prefill chunk while others decode: what their next round may have to wait for
	verify  []Verify
	prompts []*prefill
	prompt  bool // the last pass was a prompt's
	batches int  // passes of drafts since the last prompt chunk was cut
}

// cut fixes where the chunk of p that starts at from ends. While others decode chunks are short, so that a long prompt
// never holds up a round for long.
func (s *schedule) cut(p *prefill, from int) {
	chunk := s.chunk
	if s.batches > 0 || len(s.verify) > 0 {
		chunk = min(chunk, s.mixed)
	}
	s.batches = 0
	p.to = p.end(from, chunk)
}

// turn is whose turn it is.
type turn uint8

const (
	nobody turn = iota
	rounds
	prompts
)

// turn tells what is to run now: rounds and chunks of prompts take turns when both wait.
func (s *schedule) turn() turn {
	chunk := s.runnable() >= 0
	switch {
	case len(s.verify) > 0 && (!chunk || s.prompt):
		return rounds
	case chunk:
		return prompts
	}
	return nobody
}

// nextPrompt takes the prompt whose chunk runs next. It goes to the back of the queue: prompts take turns.
func (s *schedule) nextPrompt() *prefill {
	at := s.runnable()
	p := s.prompts[at]
	s.prompts = append(append(s.prompts[:at:at], s.prompts[at+1:]...), p)
	s.prompt = true
	return p
}

func (s *schedule) runnable() int {
	for i, p := range s.prompts {
		if p.mayRun() {
			return i
		}
	}
	return -1
}

// nextBatch takes waiting rounds, oldest first, of so many sequences at most, and as many as fit in a pass of so many rows.
func (s *schedule) nextBatch(most, sequences int) []Verify {
	s.prompt = false
	s.batches++
	n, rows := 0, 0
	for _, v := range s.verify {
		r := 1 + len(v.Drafts)
		if n > 0 && (n == sequences || rows+r > most || v.Alone || s.verify[0].Alone) {
			break
		}
		n++
		rows += r
	}
	batch := s.verify[:n:n]
	s.verify = append([]Verify(nil), s.verify[n:]...)
	return batch
}

// drop takes out what belongs to dead tickets.
func (s *schedule) drop() (verify []Verify, prompts []*prefill) {
	var live []Verify
	for _, v := range s.verify {
		if v.Ticket.Dead() {
			verify = append(verify, v)
			continue
		}
		live = append(live, v)
	}
	s.verify = live
	var running []*prefill
	for _, p := range s.prompts {
		if p.Ticket.Dead() && !p.busy {
			prompts = append(prompts, p)
			continue
		}
		running = append(running, p)
	}
	s.prompts = running
	return verify, prompts
}

// settle keeps a prompt whose pass has ended in the queue, or takes it out when it is over. One that is not in it comes from
// an earlier incarnation and is taken in.
func (s *schedule) settle(p *prefill, over bool) {
	at := slices.Index(s.prompts, p)
	switch {
	case over && at >= 0:
		s.prompts = slices.Delete(slices.Clone(s.prompts), at, at+1)
	case !over && at < 0:
		s.prompts = append(s.prompts, p)
	}
}

package verifier

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/gate"
)

// Prefill runs Ledger through the trunk from position From. Sent by a session at its start (Sample: the last row's logits
// give the first token) and after a crash (not Sample: the last token of the ledger has been emitted already, and the
// rows before it are replayed). Answered by Progress after each chunk and one Committed, or Lost.
type Prefill struct {
	Ticket *round.Ticket
	Ledger []int32 // committed ids; read only
	From   int     // rows that the sequence has already, from a snapshot
	Rows   int     // rows to run up to: len(Ledger) with Sample, else one less
	Marks  []int   // positions where a chunk ends because a snapshot is worth most there, ascending
	Sample bool
	Score  bool // rate the prompt's own tokens: Scored after each chunk
	Sent   time.Time

	root *actor.RootContext
}

// Scored tells a session how the model rates the prompt's tokens at From, From+1, ...: each token's logprob given those
// before it.
type Scored struct {
	Request string
	Epoch   int
	From    int
	Tokens  []sample.Token
}

// Verify judges a draft. Sent by the drafter. Answered to the session by Committed, or Lost.
type Verify struct {
	Ticket *round.Ticket
	Ledger []int32        // committed ids; read only; the last one is row 0
	Drafts []int32        // rows 1..; none at depth 0
	Dists  []*sample.Dist // rule residual: the drafter's law of each draft
	Lanes  lanes.Bits
	Loan   *stager.Loan // its window; nil: the pass makes it
	Banks  []*gate.Gate // per QSA layer; nil: settled
	Limit  int          // tokens that may be emitted
	Alone  bool         // not in one pass with other sequences: its last try crashed
	Times  round.Times
	Ask    func() // ple mode sync: called by the pass when it needs the window

	root *actor.RootContext
}

// Primed gives the verifier credit for one more prefill chunk. Sent by the drafter.
type Primed struct {
	prompt *prefill
	again  func(Primed)
}

// Fail gives the credit again, after the restart that lost it.
func (m Primed) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		m.again(m)
	}
}

// resume brings waiting work to the verifier's next incarnation: nothing of it was touched by what failed.
type resume struct {
	verify  []Verify
	prompts []*prefill
}

// Fail loses the rounds.
func (m resume) Fail(err error) {
	for _, v := range m.verify {
		v.Fail(fmt.Errorf("%w: %w", round.ErrBystander, err))
	}
	for _, p := range m.prompts {
		p.Fail(fmt.Errorf("%w: %w", round.ErrBystander, err))
	}
}

// Chunk hands the drafter the streams of a prefill chunk, to prime its caches. The drafter owns Kept from then on and
// answers Primed.
type Chunk struct {
	Ticket *round.Ticket
	Kept   *state.Kept
	Next   []int32 // the true next token of each row
	Ledger []int32 // committed ids; read only: rows that were put off are in it
	From   *actor.PID
	Snap   *Snap // to be made whole once the rows are primed; nil: none
	prompt *prefill

	root *actor.RootContext
}

// Progress tells a session how many prompt tokens are done.
type Progress struct {
	Request string
	Epoch   int
	Done    int
}

// Committed ends a round: these tokens are now part of the sequence. Sent to the session (which owns Kept from then on)
// and by it, as Note, to the drafter, who keeps the acceptance count.
type Committed struct {
	Ticket  *round.Ticket
	Tokens  []sample.Token // emitted; none after a replay
	Drafted int
	Width   int  // sequences in the pass
	Lead    bool // the first of them: its times stand for the pass
	Result  verify.Result
	Kept    *state.Kept // streams of the committed rows; nil at depth 0
	Snap    *Snap       // to be made whole by the drafter once it has caught up with Kept; nil: none
	Banks   []*gate.Gate
	Lanes   lanes.Bits
	Windows int    // windows this round: chunks in prefill, else 1
	Fails   [2]int // fail-overs by lane
	Prefill bool
	Times   round.Times

	root *actor.RootContext
	note bool // the drafter's copy: its loss costs a count, not the round
}

// Note is what the drafter is told of a round that may have had drafts; false: there is nothing to tell. It travels behind the next
// round, which must not wait for it.
func (m Committed) Note() (Committed, bool) {
	if m.Prefill || m.Ticket.Settings.Depth == 0 {
		return Committed{}, false
	}
	m.Kept, m.Snap, m.note = nil, nil, true
	return m, true
}

// Fail loses the round: the session that died with it rebuilds its sequence.
func (m Committed) Fail(err error) {
	if m.note {
		return
	}
	m.Kept.Free()
	m.Snap.Discard()
	m.Ticket.Lose(m.root, "session", err, false)
}

// Blame names the request.
func (m Committed) Blame() string { return m.Ticket.Request }

// passed ends a pass: the verifier may start the next one. Sent by the worker's job.
type passed struct {
	post   int      // where it ran
	rounds int      // sequences side by side; 0: a chunk of a prompt
	rows   int      // of all rounds
	chunk  *prefill // the prefill that moved, if any
	handed bool     // its streams went to the drafter, who owes a Primed
	err    error
	again  func(passed)
}

// look has the verifier see again who is there for the next pass. Sent to itself; one that is lost is made up for by the next
// message.
type look struct{}

// Fail tells it again, after the restart that lost it.
func (m passed) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		m.again(m)
	}
}

// Fail loses the prefill.
func (m Prefill) Fail(err error) { m.Ticket.Lose(m.root, "verifier", err, false) }

// Blame names the request.
func (m Prefill) Blame() string { return m.Ticket.Request }

// Fail loses the round and gives its window back.
func (m Verify) Fail(err error) {
	m.Loan.Back()
	m.Ticket.Lose(m.root, "verifier", err, false)
}

// Blame names the request.
func (m Verify) Blame() string { return m.Ticket.Request }

// Fail loses the round: without this chunk the drafter's caches have a hole.
func (m Chunk) Fail(err error) {
	m.Kept.Free()
	m.Snap.Discard()
	m.Ticket.Lose(m.root, "drafter", err, false)
}

// Primed gives the credit back.
func (m Chunk) Primed() {
	again := func(p Primed) { m.root.Send(m.From, p) }
	again(Primed{prompt: m.prompt, again: again})
}

// Blame names the request.
func (m Chunk) Blame() string { return m.Ticket.Request }

// NewPrefill returns a Prefill that can tell its session when it is lost.
func NewPrefill(root *actor.RootContext, m Prefill) Prefill { m.root = root; return m }

// NewVerify returns a Verify that can tell its session when it is lost.
func NewVerify(root *actor.RootContext, m Verify) Verify { m.root = root; return m }

package drafter

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/gate"
)

// Draft starts a round. Sent by a session. The drafter owns Kept from then on. Answered, through the verifier, by
// verifier.Committed to the session, or Lost.
type Draft struct {
	Ticket *round.Ticket
	Ledger []int32        // committed ids; read only; the last one has no row yet
	Kept   *state.Kept    // streams of the rows since the last turn; nil at depth 0
	Snap   *verifier.Snap // to be made whole once Kept is caught up with; nil: none
	Rows   int            // most rows of the round: 1 + drafts
	Lanes  lanes.Bits     // in force for this round
	Banks  []*gate.Gate
	Limit  int  // tokens that may be emitted
	Alone  bool // verify without neighbours: the last try crashed
	Times  round.Times

	root *actor.RootContext
}

// Fail loses the round.
func (m Draft) Fail(err error) {
	m.Kept.Free()
	m.Snap.Discard()
	m.Ticket.Lose(m.root, "drafter", err, false)
}

// Blame names the request.
func (m Draft) Blame() string { return m.Ticket.Request }

// NewDraft returns a Draft that can tell its session when it is lost.
func NewDraft(root *actor.RootContext, m Draft) Draft { m.root = root; return m }

// drafted ends a pass of the worker.
type drafted struct{}

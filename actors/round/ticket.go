package round

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/engine/verify"
)

// Settings is what stays the same for all rounds of a request.
type Settings struct {
	Depth  int // drafts per round; 0: the sequence does not draft
	Rule   verify.Rule
	Stop   func(id int32) bool // ids that end the answer
	Prompt int                 // prompt tokens: positions below are of the prompt class
}

// Ticket is one life of a request's sequence. After a crash the session throws the ticket away and makes a new one with
// the next epoch, so whatever still carries the old one is told apart. A ticket is held by one actor at a time, except
// Request, Epoch, Session, Ctx and Settings, which never change.
type Ticket struct {
	Request  string
	Epoch    int
	Session  *actor.PID
	Ctx      context.Context // ends when the request is cancelled or the ticket thrown away
	Settings Settings

	Seq      *state.Sequence
	Verifier *sample.Sampler  // the verifier's own, with its scratch
	Drafter  *sample.Sampler  // the drafter's own
	History  *sample.History  // penalty counts of what is committed; drafts are pushed and popped
	Grammar  *grammar.Session // place in the grammar, or the budget, after what is committed; nil: neither
}

// Dead reports whether work for the ticket has become pointless.
func (t *Ticket) Dead() bool { return t.Ctx.Err() != nil }

// Blame names the request in failures.
func (t *Ticket) Blame() string { return t.Request }

// ErrBystander marks the loss of a round that another message's failure took along: its request is not to blame.
var ErrBystander = errors.New("lost beside another failure")

// Lost tells a session that its round will not come back. Sent by whoever held the round.
type Lost struct {
	Request string
	Epoch   int
	Actor   string // who lost it
	Err     error
	// Final: trying again cannot help (a non-finite row, no memory); the request ends with Err. Otherwise the session
	// rebuilds the sequence from its ledger.
	Final bool

	again func(Lost)
}

// Blamed reports whether the request's own message or pass failed.
func (l Lost) Blamed() bool { return !errors.Is(l.Err, ErrBystander) }

// Lose tells the ticket's session.
func (t *Ticket) Lose(root *actor.RootContext, who string, err error, final bool) {
	session := t.Session
	again := func(l Lost) { root.Send(session, l) }
	again(Lost{Request: t.Request, Epoch: t.Epoch, Actor: who, Err: err, Final: final, again: again})
}

// Fail tells the session again, after the restart that made it lose the notice.
func (l Lost) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		l.again(l)
	}
}

// Blame names the request.
func (l Lost) Blame() string { return l.Request }

// Times is where a round's time went.
type Times struct {
	Sent   time.Time     // when the session sent the round
	Draft  time.Duration // in the drafter's pass
	Verify time.Duration // in the verifier's pass
	Stage  time.Duration // in the stager, beside the draft
	Wait   time.Duration // the verifier's pass waiting for planes or banks
}

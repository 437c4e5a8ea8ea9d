package intake

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// Actor admits, queues and cancels requests. All it knows is on the desk, which outlives it.
type Actor struct {
	desk    *Desk
	nursery *actor.PID
	*Deps
}

// New returns a fresh actor.
func New(desk *Desk, nursery *actor.PID, deps *Deps) *Actor {
	return &Actor{desk: desk, nursery: nursery, Deps: deps}
}

// Receive handles the intake's inbox.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Submit:
		a.submit(ctx, m)
	case Cancel:
		a.cancel(ctx, m)
	case ended:
		a.promote(ctx)
	case Shut:
		a.shut(ctx)
	}
}

func (a *Actor) submit(ctx actor.Context, m Submit) {
	if n := len(m.Request.Prompt); n == 0 || n >= a.Context {
		m.Output.Push(Event{Kind: Failed, Err: fmt.Errorf("%w: prompt has %d tokens, want 1 to %d", ErrTooLong, n, a.Context-1)})
		return
	}
	e, err := a.desk.admit(m, a.need(m.Request))
	switch {
	case err != nil:
		m.Output.Push(Event{Kind: Failed, Err: err})
	case e != nil:
		a.start(ctx, e)
	default:
		a.promote(ctx) // nobody may be left to leave
	}
}

// promote starts everyone whose turn has come.
func (a *Actor) promote(ctx actor.Context) {
	for {
		e, err := a.desk.promote()
		switch {
		case e == nil:
			return
		case err != nil:
			e.output.Push(Event{Kind: Failed, Err: err})
		default:
			a.start(ctx, e)
		}
	}
}

// need is the memory a request may come to hold: for its prompt and all it may generate, and for the answer itself.
func (a *Actor) need(r *Request) int64 {
	positions := a.Context
	if r.MaxTokens > 0 {
		positions = min(positions, len(r.Prompt)+r.MaxTokens)
	}
	return a.Need(positions, r.Depth > 0 && a.Drafts) + answerBytes(r, positions)
}

// answerBytes is what the answer may take on its way out, as events and as the document a client gets who does not stream.
func answerBytes(r *Request, positions int) int64 {
	tokens := positions - len(r.Prompt)
	if r.Score {
		tokens = positions
	}
	const token, entry = 64, 160 // id, text and bookkeeping; an id with its text and its probability in JSON
	each := token
	if r.Logprobs {
		each += entry * (1 + r.Sampling.TopLogprobs)
	}
	return int64(max(tokens, 0)) * int64(each)
}

func (a *Actor) start(ctx actor.Context, e *entry) {
	root, nursery := ctx.ActorSystem().Root, a.nursery
	again := func(s spawn) { root.Send(nursery, s) }
	again(spawn{entry: e, desk: a.desk, again: again})
}

func (a *Actor) cancel(ctx actor.Context, m Cancel) {
	why := stop{err: fmt.Errorf("%w: %s", ErrCancelled, m.Reason)}
	queued, session, ok := a.desk.withdraw(m.ID, why)
	if !ok {
		return
	}
	a.House.Log.Info().Str("request", m.ID).Str("reason", m.Reason).Bool("queued", queued != nil).Msg("request cancelled")
	if queued != nil {
		queued.output.Push(Event{Kind: Failed, Err: why.err})
	}
	if session != nil {
		a.stop(ctx.ActorSystem().Root, session, why)
	}
}

func (a *Actor) stop(root *actor.RootContext, session *actor.PID, s stop) {
	s.again = func(s stop) { root.Send(session, s) }
	s.again(s)
}

func (a *Actor) shut(ctx actor.Context) {
	queued, active := a.desk.close()
	for _, e := range queued {
		e.output.Push(Event{Kind: Failed, Err: ErrClosing})
	}
	for _, id := range active {
		if _, session, ok := a.desk.withdraw(id, stop{err: ErrClosing}); ok && session != nil {
			a.stop(ctx.ActorSystem().Root, session, stop{err: ErrClosing})
		}
	}
}

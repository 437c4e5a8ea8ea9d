package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/drafter"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// maxLosses is how often a request may lose its round by its own failure with no token, of the prompt or of the answer,
// committed in between that was not committed before.
const maxLosses = 3

var errOver = errors.New("request is over")

// session is one request. It outlives its actor's restarts: the mailbox and the incarnation are the actor, the ledger is not.
type session struct {
	*Deps
	desk    *Desk
	request *Request
	output  *Output
	script  *transcript

	ticket  *round.Ticket
	cancel  context.CancelCauseFunc
	epoch   int
	losses  int  // rounds lost by its own failure since it last got further than ever before
	reached int  // prompt tokens that were once prefilled
	rated   int  // prompt positions whose Scored event has gone out
	alone   bool // the last round was lost: the next one is not run beside others
	started bool
	over    bool
	// orphaned: the actor is a new one with an empty mailbox, since the nursery failed and took the old one along.
	orphaned bool

	submitted, begun, first, last time.Time
	sent                          time.Time // of the round in flight
	bits                          lanes.Bits
	report                        Report
}

func newSession(d *Deps, desk *Desk, e *entry) *session {
	stops := append(slices.Clone(d.StopIDs), e.request.StopIDs...)
	isStop := func(id int32) bool { return slices.Contains(stops, id) }
	return &session{Deps: d, desk: desk, request: e.request, output: e.output, submitted: e.at,
		script: newTranscript(e.request, d.Context, isStop, d.Text)}
}

// Receive handles a session's inbox.
func (s *session) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		switch {
		case !s.started:
			s.started, s.begun = true, time.Now()
			s.output.Push(Event{Kind: Accepted})
			s.begin(ctx)
		case s.orphaned && !s.over:
			s.orphaned = false
			s.rebuild(ctx, "sessions", round.ErrBystander)
		}
	case opened:
		s.opened(ctx, m)
	case verifier.Progress:
		if s.current(m.Epoch) && m.Done > s.reached {
			s.reached, s.losses = m.Done, 0
			s.output.Push(Event{Kind: Progress, Prefilled: m.Done, PromptTokens: s.script.prompt})
		}
	case verifier.Scored:
		s.scored(m)
	case verifier.Committed:
		s.committed(ctx, m)
	case round.Lost:
		s.lost(ctx, m)
	case stop:
		s.end(ctx, m.err)
	case *actor.Stopping:
		if s.desk.shutting() {
			s.end(ctx, ErrClosing)
		}
	}
}

func (s *session) current(epoch int) bool { return !s.over && epoch == s.epoch }

// begin asks for a sequence; opened goes on from there.
func (s *session) begin(ctx actor.Context) {
	s.epoch++
	epoch, id, self, root := s.epoch, s.request.ID, ctx.Self(), ctx.ActorSystem().Root
	lost := func(err error) {
		(&round.Ticket{Request: id, Epoch: epoch, Session: self}).Lose(root, "session", err, false)
	}
	s.Store.Open(s.view(), s.script.prompt, s.depth() > 0, s.request.Score, func(o Opened) {
		root.Send(self, opened{Opened: o, epoch: epoch, lost: lost})
	})
}

// depth is the drafts per round that the request may have.
func (s *session) depth() int {
	if !s.Drafts {
		return 0
	}
	return s.request.Depth
}

// opened runs what the sequence lacks of the ledger through the trunk: the prompt at first, after a loss all that is
// committed but the last token, whose row the next round runs.
func (s *session) opened(ctx actor.Context, o opened) {
	if !s.current(o.epoch) {
		o.free()
		return
	}
	if o.Err != nil {
		s.end(ctx, memory(o.Err))
		return
	}
	if s.epoch == 1 {
		s.report.CachedTokens = o.From
	}
	tctx, cancel := context.WithCancelCause(context.Background())
	sampler := sample.New(s.request.Sampling, s.Vocab)
	history := sample.NewHistory(s.request.Prompt, s.request.Sampling)
	answer := s.script.ledger[s.script.prompt:]
	for _, id := range answer {
		history.Push(id)
	}
	s.cancel = cancel
	s.ticket = &round.Ticket{
		Request: s.request.ID, Epoch: s.epoch, Session: ctx.Self(), Ctx: tctx,
		Settings: round.Settings{Depth: s.depth(), Rule: s.request.Rule, Stop: s.script.isStop, Prompt: s.script.prompt},
		Seq:      o.Seq, Verifier: sampler, Drafter: sampler.Clone(), History: history,
	}
	if g, b := s.request.Grammar, s.request.Budget; g != nil || b != nil {
		var err error
		if s.ticket.Grammar, err = grammar.Replay(g, b, answer); err != nil {
			s.end(ctx, fmt.Errorf("%w: %w", ErrInternal, err)) // every committed token was sampled under the mask
			return
		}
	}
	fresh := len(answer) == 0
	rows := len(s.script.ledger)
	if !fresh {
		rows--
	}
	if o.From == rows { // nothing is lacking
		s.draft(ctx, verifier.Committed{Kept: o.Kept})
		return
	}
	if o.Kept != nil {
		o.Seq.Lag = []*state.Kept{o.Kept}
	}
	root := ctx.ActorSystem().Root
	ctx.Send(s.Peers().Verifier, verifier.NewPrefill(root, verifier.Prefill{
		Ticket: s.ticket, Ledger: s.view(), From: o.From, Rows: rows, Marks: s.marks(), Sample: fresh && !s.request.ScoreOnly,
		Score: fresh && s.request.Score, Sent: time.Now()}))
}

// marks is where a snapshot is worth most: before the last special token of the prompt, which begins the turn that is to be
// generated. The next turn's prompt shares everything up to there, however it renders this one's answer.
func (s *session) marks() []int {
	if s.Text == nil {
		return nil
	}
	for i := s.script.prompt - 1; i > 0; i-- {
		if s.Text.Special(s.script.ledger[i]) {
			return []int{i}
		}
	}
	return nil
}

// view is the ledger as others may read it: later appends never touch it.
func (s *session) view() []int32 { return s.script.ledger[:len(s.script.ledger):len(s.script.ledger)] }

// discard throws the ticket away; whatever still carries it finds it dead.
func (s *session) discard(why error) {
	if s.ticket == nil {
		return
	}
	s.cancel(why)
	s.ticket.Seq.Release()
	s.ticket, s.cancel = nil, nil
}

func (s *session) committed(ctx actor.Context, m verifier.Committed) {
	if !s.current(m.Ticket.Epoch) {
		m.Kept.Free()
		m.Snap.Discard()
		return
	}
	now := time.Now()
	if len(m.Tokens) > 0 {
		s.losses, s.alone = 0, false
	}
	s.account(m, now)
	deltas, shown, done := s.script.add(m.Tokens, m.Drafted, m.Result.Accepted)
	if len(shown) > 0 {
		s.last = now
		e := Event{Kind: Delta, Deltas: deltas}
		if s.request.Logprobs {
			e.Tokens = shown
		}
		s.output.Push(e)
	}
	if s.request.ScoreOnly {
		s.script.finish, done = FinishLength, true
	}
	if !done && s.script.limit() == 0 {
		s.script.finish, done = FinishLength, true
	}
	if !done {
		s.draft(ctx, m)
	}
	if note, ok := m.Note(); ok {
		ctx.Send(s.Peers().Drafter, note)
	}
	if done {
		m.Snap.Discard()
		s.leave(m)
		s.finish(ctx)
	}
}

// scored passes the prompt's ratings on, each once, whatever had to be run again.
func (s *session) scored(m verifier.Scored) {
	if !s.current(m.Epoch) {
		return
	}
	skip := max(s.rated-m.From, 0)
	if skip >= len(m.Tokens) {
		return
	}
	s.rated = m.From + len(m.Tokens)
	s.output.Push(Event{Kind: Scored, Tokens: m.Tokens[skip:]})
}

// account notes times and lane use of what just ended.
func (s *session) account(m verifier.Committed, now time.Time) {
	s.bits = m.Lanes
	if s.report.LaneUse == nil {
		s.report.LaneUse = map[string]LaneUse{}
	}
	for _, l := range lanes.All() {
		u := s.report.LaneUse[l.String()]
		if m.Lanes.Has(l) {
			u.Windows += m.Windows
		}
		u.FailOver += m.Fails[l]
		s.report.LaneUse[l.String()] = u
	}
	if !m.Prefill {
		s.script.rounds++
		s.Totals.round(len(m.Tokens), now.Sub(s.sent), m.Times)
		if !s.House.Bus.Idle() {
			s.House.Bus.Publish("round", roundEvent{Request: s.request.ID, Round: s.script.rounds, Tokens: len(m.Tokens), Drafted: m.Drafted,
				Accepted: m.Result.Accepted, Width: m.Width, Lanes: m.Lanes.Map(), MS: float64(now.Sub(s.sent).Microseconds()) / 1000})
		}
		return
	}
	if s.report.Prefill == 0 {
		s.report.Prefill = now.Sub(s.begun)
		s.Totals.prefilled(s.script.prompt)
	}
	if s.first.IsZero() && len(m.Tokens) > 0 {
		s.first = now
		s.Totals.first()
	}
}

// roundEvent is what the event stream tells of a round.
type roundEvent struct {
	Request  string          `json:"request"`
	Round    int             `json:"round"`
	Tokens   int             `json:"tokens"`
	Drafted  int             `json:"drafted"`
	Accepted int             `json:"accepted"`
	Width    int             `json:"width"` // sequences in the pass
	Lanes    map[string]bool `json:"lanes"`
	MS       float64         `json:"ms"`
}

// draft starts the next round. The lanes in force are read here, once.
func (s *session) draft(ctx actor.Context, m verifier.Committed) {
	limit := s.script.limit()
	s.sent = time.Now()
	ctx.Send(s.Peers().Drafter, drafter.NewDraft(ctx.ActorSystem().Root, drafter.Draft{
		Ticket: s.ticket, Ledger: s.view(), Kept: m.Kept, Snap: m.Snap, Rows: min(s.ticket.Settings.Depth+1, limit),
		Lanes: s.Board.Bits(), Banks: m.Banks, Limit: limit, Alone: s.alone, Times: round.Times{Sent: s.sent}}))
}

// leave hands the sequence of a finished turn to the store, if its rows are exactly what was emitted: a stop string may have
// cut tokens that the verifier had committed.
func (s *session) leave(m verifier.Committed) {
	seq := s.ticket.Seq
	if seq.Len != len(s.script.ledger)-1 || seq.Len < 1 {
		m.Kept.Free()
		return
	}
	l := Leaving{Seq: seq, IDs: s.script.ledger[:seq.Len:seq.Len], Prompt: s.script.prompt, Kept: m.Kept, Banks: m.Banks}
	if s.script.rounds == 0 { // the drafter may still be priming
		l.Kept.Free()
		l.Kept = nil
	}
	s.cancel(errOver)
	s.ticket, s.cancel = nil, nil
	s.Store.Keep(l)
}

// lost rebuilds the sequence from the ledger, or gives the request up.
func (s *session) lost(ctx actor.Context, m round.Lost) {
	if !s.current(m.Epoch) {
		return
	}
	if m.Final {
		s.end(ctx, final(m.Err))
		return
	}
	s.alone = true
	if m.Blamed() {
		s.losses++
	}
	if s.losses >= maxLosses {
		kind := ErrCrashed
		if read := (*ple.ReadError)(nil); errors.As(m.Err, &read) {
			kind = ErrTable
		}
		s.end(ctx, fmt.Errorf("%w: %d times with no token in between, last in the %s: %w", kind, s.losses, m.Actor, m.Err))
		return
	}
	s.rebuild(ctx, m.Actor, m.Err)
}

// rebuild throws the sequence away and runs the ledger again.
func (s *session) rebuild(ctx actor.Context, by string, why error) {
	s.report.Restarts++
	s.Totals.rebuild()
	s.House.Log.Warn().Str("request", s.request.ID).Str("lost_by", by).Err(why).Int("tokens", s.script.generated()).Msg("sequence rebuilt from its ledger")
	s.discard(why)
	s.begin(ctx)
}

// memory and final sort an error into what the wire tells.
func memory(err error) error {
	if errors.Is(err, metal.ErrMemory) {
		return fmt.Errorf("%w: %w", ErrMemory, err)
	}
	return fmt.Errorf("%w: %w", ErrInternal, err)
}

func final(err error) error {
	if errors.Is(err, sample.ErrNotFinite) {
		return fmt.Errorf("%w: %w", ErrNumeric, err)
	}
	return memory(err)
}

// finish ends the request well.
func (s *session) finish(ctx actor.Context) {
	r := &s.report
	s.script.fill(r)
	r.ID, r.Depth, r.Rule, r.Seed = s.request.ID, s.depth(), s.request.Rule.String(), s.request.Sampling.Seed
	r.Lanes = s.bits.Map()
	r.Queued = s.begun.Sub(s.submitted)
	if !s.first.IsZero() {
		r.FirstToken = s.first.Sub(s.submitted)
		r.Decode = s.last.Sub(s.first)
	}
	s.close(ctx, string(r.Finish), Event{Kind: Done, Report: r})
}

// end ends the request with an error.
func (s *session) end(ctx actor.Context, err error) {
	if s.over {
		return
	}
	outcome := "failed"
	if errors.Is(err, ErrCancelled) || errors.Is(err, ErrClosing) {
		outcome = "cancelled"
	} else {
		s.House.Log.Error().Str("request", s.request.ID).Err(err).Msg("request failed")
	}
	s.close(ctx, outcome, Event{Kind: Failed, Err: fmt.Errorf("request %s: %w", s.request.ID, err)})
}

// close frees everything the request held, leaves its slot, and only then tells the client: who reads the last event may
// count on it.
func (s *session) close(ctx actor.Context, outcome string, last Event) {
	s.over = true
	s.discard(errOver)
	s.Totals.outcome(outcome)
	if !s.House.Bus.Idle() {
		s.House.Bus.Publish("request", map[string]any{"id": s.request.ID, "outcome": outcome,
			"tokens": s.script.generated(), "rounds": s.script.rounds, "restarts": s.report.Restarts})
	}
	s.desk.leave(s.request.ID)
	root, intake := ctx.ActorSystem().Root, s.Peers().Intake
	again := func(e ended) { root.Send(intake, e) }
	again(ended{id: s.request.ID, again: again})
	ctx.Stop(ctx.Self())
	s.output.Push(last)
}

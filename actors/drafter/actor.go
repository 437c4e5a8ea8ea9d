package drafter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/state"
)

// Peers are the actors the drafter talks to.
type Peers struct {
	Verifier *actor.PID
	Stager   *actor.PID // nil: the pack has no PLE
}

// Actor drafts. What waits in it is lost with it; its worker and everything in Deps outlive it.
type Actor struct {
	Deps
	waiting []Draft
	busy    bool
}

// Deps is what lives as long as the model.
type Deps struct {
	Peers      Peers
	Worker     *worker.Worker
	Pass       *mtp.Pass // used on the worker only; nil: no head, every round is one row
	MaxRows    int       // rows Pass has room for
	Windows    *stager.Shelf
	Board      *lanes.Board
	Acceptance *Acceptance
	Policy     *Policy
	MaxLag     int  // committed rows a sequence may put off before it stops drafting: one chunk
	OnDemand   bool // ple mode sync: the plane is made when the verifier asks
	Log        zerolog.Logger
}

// New returns a fresh actor.
func New(d Deps) *Actor { return &Actor{Deps: d} }

// Receive handles the drafter's inbox.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Draft:
		a.draft(ctx, m)
	case verifier.Chunk:
		a.prime(ctx, m)
	case verifier.Committed:
		a.Acceptance.Add(m.Drafted, m.Result)
		a.Policy.observe(m)
	case drafted:
		a.busy = false
		a.start(ctx)
	case supervision.Broken:
		panic(m.Err)
	case *actor.Restarting:
		a.handOver(ctx)
	case *actor.Stopping:
		a.loseWaiting(context.Canceled)
	}
}

// handOver sends what waits to the next incarnation: nothing of it was touched by what failed.
func (a *Actor) handOver(ctx actor.Context) {
	for _, m := range a.waiting {
		ctx.ActorSystem().Root.Send(ctx.Self(), m)
	}
	a.waiting = nil
}

func (a *Actor) loseWaiting(err error) {
	for _, m := range a.waiting {
		m.Fail(err)
	}
	a.waiting = nil
}

// draft queues a round for the next pass, or sends it on at once when it is to have no drafts.
func (a *Actor) draft(ctx actor.Context, m Draft) {
	if m.Rows == 1 || m.Kept == nil || a.Pass == nil {
		a.plain(ctx, m)
		return
	}
	a.waiting = append(a.waiting, m)
	if !a.busy {
		a.start(ctx)
	}
}

// plain sends a round on without drafts; the drafter's caches catch up when they are next needed. What it puts off is the
// worker's to note: a chunk of the same sequence may still be priming there.
func (a *Actor) plain(ctx actor.Context, m Draft) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	send := func() {
		m.Snap.Discard() // it would have to wait for the caches
		a.putOff(m)
		m.Rows = 1
		b := a.begin(root, m)
		b.known(0, m.Ledger[len(m.Ledger)-1])
		b.send()
	}
	if m.Kept == nil {
		send()
		return
	}
	ok := a.Worker.Do(worker.Job{Run: send, Broken: func(v any, stack []byte) {
		root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: m})
	}})
	if !ok {
		m.Fail(context.Canceled)
	}
}

// putOff keeps the streams of committed rows with their sequence, up to a chunk of them; beyond that the sequence stops
// drafting, which is counted.
func (a *Actor) putOff(m Draft) {
	seq := m.Ticket.Seq
	if m.Kept == nil {
		return
	}
	if !seq.Acquire() {
		m.Kept.Free()
		return
	}
	defer seq.Release()
	if seq.MTP == nil {
		m.Kept.Free()
		return
	}
	seq.Lag = append(seq.Lag, m.Kept)
	if seq.LagRows() > a.MaxLag {
		seq.StopDrafting()
		a.Policy.stopped.Add(1)
	}
}

// start runs one pass over as many waiting rounds as fit.
func (a *Actor) start(ctx actor.Context) {
	var batch []Draft
	rows := 0
	for len(a.waiting) > 0 {
		m := a.waiting[0]
		if m.Ticket.Dead() {
			m.Fail(context.Cause(m.Ticket.Ctx))
			a.waiting = a.waiting[1:]
			continue
		}
		alone := m.Alone || (len(batch) > 0 && batch[0].Alone)
		if len(batch) > 0 && (rows+m.Kept.Rows > a.MaxRows || alone) {
			break
		}
		rows += m.Kept.Rows
		batch = append(batch, m)
		a.waiting = a.waiting[1:]
	}
	if len(batch) == 0 {
		return
	}
	if batch = a.deepen(ctx, batch); len(batch) == 0 {
		a.start(ctx) // others may wait
		return
	}
	a.busy = true
	self, root := ctx.Self(), ctx.ActorSystem().Root
	a.Worker.Do(worker.Job{
		Run: func() {
			a.Worker.Yield()
			rounds := a.pass(root, batch)
			root.Send(self, drafted{})
			for _, b := range rounds { // last: who is told last goes first, and the stager still has rows to make beside the verifier
				b.send()
			}
		},
		Broken: func(v any, stack []byte) {
			root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: batchDebt(batch)})
		},
	})
}

// deepen lets the policy choose the batch's depth, within what each round asked for. Rounds that get no drafts are sent on.
func (a *Actor) deepen(ctx actor.Context, batch []Draft) []Draft {
	most := 0
	for _, m := range batch {
		most = max(most, m.Rows-1)
	}
	depth := a.Policy.choose(len(batch), most)
	if depth == 0 {
		for _, m := range batch {
			a.plain(ctx, m)
		}
		return nil
	}
	for i := range batch {
		batch[i].Rows = min(batch[i].Rows, depth+1)
	}
	return batch
}

// batchDebt is what a pass owes: all its rounds.
type batchDebt []Draft

func (b batchDebt) Fail(err error) {
	if len(b) > 1 { // whose rows did it is not known; each is tried alone next
		err = fmt.Errorf("%w: %w", round.ErrBystander, err)
	}
	for _, m := range b {
		m.Fail(err)
	}
}

func (b batchDebt) Blame() string {
	if len(b) == 1 {
		return b[0].Ticket.Request
	}
	return ""
}

// pass runs on the worker: catch up, chain, tell the stager each row. It returns the rounds to be sent on.
func (a *Actor) pass(root *actor.RootContext, batch []Draft) (ready []*building) {
	start := time.Now()
	if batch = hold(batch); len(batch) == 0 {
		return nil
	}
	defer func() {
		for _, m := range batch {
			m.Ticket.Seq.Release()
		}
	}()
	rounds := make([]*building, len(batch))
	whole := false
	defer func() {
		for _, b := range rounds {
			if !whole && b != nil { // the pass panicked
				b.abandon()
			}
		}
	}()
	jobs := make([]mtp.Job, len(batch))
	lost := a.catchUp(batch)
	for i, m := range batch {
		b := a.begin(root, m)
		rounds[i] = b
		jobs[i] = mtp.Job{
			Seq:     m.Ticket.Seq,
			Kept:    m.Kept,
			Next:    m.Ledger[m.Kept.Pos+1 : m.Kept.Pos+1+m.Kept.Rows],
			Depth:   m.Rows - 1,
			Propose: b.propose,
			Known:   b.known,
		}
	}
	err := lost
	if err == nil {
		err = a.Pass.Draft(context.Background(), jobs)
	}
	took := time.Since(start)
	for i, b := range rounds {
		b.popDrafts()
		if lost := cmp.Or(err, jobs[i].Err); lost != nil {
			b.abandon()
			batch[i].Fail(lost)
			continue
		}
		batch[i].Kept.Free()
		a.finish(batch[i].Ticket, batch[i].Snap)
		b.Times.Draft = took
		ready = append(ready, b)
	}
	whole = true
	return ready
}

// catchUp primes the rows that earlier rounds put off.
func (a *Actor) catchUp(batch []Draft) error {
	for _, m := range batch {
		if err := a.catchUpOne(m.Ticket.Seq, m.Ledger); err != nil {
			return err
		}
	}
	return nil
}

func (a *Actor) catchUpOne(seq *state.Sequence, ledger []int32) error {
	for _, k := range seq.Lag {
		next := ledger[k.Pos+1 : k.Pos+1+k.Rows]
		if err := a.Pass.Prime(context.Background(), []mtp.Job{{Seq: seq, Kept: k, Next: next}}); err != nil {
			return err
		}
		k.Free()
	}
	seq.Lag = nil
	return nil
}

// finish makes a snapshot whole. One that fails costs time later, nothing now.
func (a *Actor) finish(t *round.Ticket, snap *verifier.Snap) {
	if err := snap.Finish(a.Pass.Stream(), t.Seq.MTP); err != nil {
		a.Log.Debug().Err(err).Str("request", t.Request).Msg("no snapshot")
	}
}

// hold takes a reference on every sequence and drops the rounds whose session has let go meanwhile.
func hold(batch []Draft) []Draft {
	held := make([]Draft, 0, len(batch))
	for _, m := range batch {
		if m.Ticket.Seq.Acquire() {
			held = append(held, m)
			continue
		}
		m.Fail(context.Cause(m.Ticket.Ctx))
	}
	return held
}

// prime runs the head over a prefill chunk and gives the verifier its credit back.
func (a *Actor) prime(ctx actor.Context, m verifier.Chunk) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	ok := a.Worker.Do(worker.Job{
		Run: func() {
			if m.Ticket.Dead() || !m.Ticket.Seq.Acquire() {
				m.Kept.Free()
				m.Snap.Discard()
				return
			}
			defer m.Ticket.Seq.Release()
			err := a.catchUpOne(m.Ticket.Seq, m.Ledger)
			if err == nil {
				err = a.Pass.Prime(m.Ticket.Ctx, []mtp.Job{{Seq: m.Ticket.Seq, Kept: m.Kept, Next: m.Next}})
			}
			if err != nil {
				m.Fail(err)
				return
			}
			m.Kept.Free()
			a.finish(m.Ticket, m.Snap)
			m.Primed()
		},
		Broken: func(v any, stack []byte) {
			root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: m})
		},
	})
	if !ok {
		m.Fail(context.Canceled)
	}
}

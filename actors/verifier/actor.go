package verifier

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/model"
)

// Peers are the actors the verifier talks to.
type Peers struct {
	Drafter  *actor.PID
	Stager   *actor.PID   // nil: the pack has no PLE
	Indexers []*actor.PID // per trunk QSA layer
}

// Deps is what lives as long as the model.
type Deps struct {
	House     *supervision.House
	Peers     func() Peers // asked at each use: the drafter is spawned after the verifier
	Worker    *worker.Worker
	Pass      *model.Pass // used on the worker only
	Logits    *Logits     // used on the worker only
	Chunk     int         // rows of a prefill chunk
	Board     *lanes.Board
	Chunks    *stager.Shelf // of prefill chunks
	OnDemand  bool          // ple mode sync
	Snapshots *Snapshots    // nil: none are taken
}

// Logits is host memory for the rows of one sequence at a time, and for what a grammar allows after each.
type Logits struct {
	Vocab int
	Words int // of a mask
	rows  [][]float32
	masks [][]uint64
}

// allow are n masks to be filled; who gets them may set some to nil.
func (l *Logits) allow(n int) [][]uint64 {
	for len(l.masks) < n {
		l.masks = append(l.masks, make([]uint64, l.Words))
	}
	return slices.Clone(l.masks[:n])
}

// Actor schedules passes. What waits in it is lost with it; its worker and everything in Deps outlive it.
type Actor struct {
	Deps
	schedule  schedule
	gathering gathering
	busy      bool
	looking   bool // a look message is on its way
}

// mixedRows is the chunk while others decode: about as long as a round of a few sequences.
const mixedRows = 32

// New returns a fresh actor.
func New(d Deps) *Actor {
	return &Actor{Deps: d, schedule: schedule{chunk: d.Chunk, mixed: mixedRows, rows: d.Pass.MaxRows()}}
}

// Receive handles the verifier's inbox.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Prefill:
		a.prefill(ctx, m)
	case Verify:
		a.schedule.verify = append(a.schedule.verify, m)
		a.gathering.back(m.Ticket)
		a.start(ctx)
	case look:
		a.looking = false
		a.start(ctx)
	case Primed:
		m.prompt.lag--
		a.start(ctx)
	case resume:
		a.schedule.verify = append(m.verify, a.schedule.verify...)
		a.schedule.prompts = append(m.prompts, a.schedule.prompts...)
		a.start(ctx)
	case passed:
		a.passed(ctx, m)
	case supervision.Broken:
		panic(m.Err)
	case *actor.Restarting:
		a.handOver(ctx)
	case *actor.Stopping:
		a.loseWaiting(context.Canceled)
	}
}

// handOver sends what waits to the next incarnation. A prompt whose chunk runs is not in it: the end of that pass brings it.
func (a *Actor) handOver(ctx actor.Context) {
	m := resume{verify: a.schedule.verify}
	for _, p := range a.schedule.prompts {
		if !p.busy {
			m.prompts = append(m.prompts, p)
		}
	}
	a.schedule.verify, a.schedule.prompts = nil, nil
	if len(m.verify)+len(m.prompts) > 0 {
		ctx.ActorSystem().Root.Send(ctx.Self(), m)
	}
}

func (a *Actor) loseWaiting(err error) {
	for _, v := range a.schedule.verify {
		v.Fail(err)
	}
	for _, p := range a.schedule.prompts {
		p.Fail(err)
	}
	a.schedule.verify, a.schedule.prompts = nil, nil
}

func (a *Actor) prefill(ctx actor.Context, m Prefill) {
	p := &prefill{Prefill: m, next: m.From}
	p.times.Sent = m.Sent
	p.window = a.stage(ctx.ActorSystem().Root, p, m.From)
	a.schedule.prompts = append(a.schedule.prompts, p)
	a.start(ctx)
}

// stage cuts the chunk that starts at from and has the stager gather it.
func (a *Actor) stage(root *actor.RootContext, p *prefill, from int) *stager.Loan {
	a.schedule.cut(p, from)
	peer := a.Peers().Stager
	if peer == nil || from >= p.Rows || !a.Board.Bits().Has(lanes.PLE) || a.OnDemand {
		return nil
	}
	loan, err := a.Chunks.Take()
	if err != nil {
		return nil // no memory for a window of its own: the pass makes it in the pass's
	}
	w := loan.Window()
	w.Reset(p.Ledger[:from], from)
	root.Send(peer, stager.Stage{Ticket: p.Ticket, Window: w, Gate: w.Gate, Tokens: p.Ledger[from:p.to], Last: true})
	return loan
}

// start runs the next pass if none runs.
func (a *Actor) start(ctx actor.Context) {
	verify, prompts := a.schedule.drop()
	for _, v := range verify {
		v.Fail(context.Cause(v.Ticket.Ctx))
	}
	for _, p := range prompts {
		p.Fail(context.Cause(p.Ticket.Ctx))
	}
	if a.busy {
		return
	}
	root := ctx.ActorSystem().Root
	if len(a.schedule.verify) > 0 && a.schedule.runnable() < 0 && a.gathering.wait(time.Now()) {
		a.lookAgain(root, ctx.Self())
		return
	}
	batch, p := a.schedule.next()
	switch {
	case batch != nil:
		a.gathering.runs(batch)
		a.do(ctx, &job{Deps: &a.Deps, root: root, self: ctx.Self(), batch: batch})
	case p != nil:
		j := &job{Deps: &a.Deps, root: root, self: ctx.Self(), prompt: p, window: p.window, from: p.next, to: p.to}
		p.busy, p.window = true, a.stage(root, p, j.to)
		a.do(ctx, j)
	}
}

// lookAgain has the verifier look again when everyone who is ready to run now has had a turn.
func (a *Actor) lookAgain(root *actor.RootContext, self *actor.PID) {
	if a.looking {
		return
	}
	a.looking = true
	go func() {
		runtime.Gosched()
		root.Send(self, look{})
	}()
}

func (a *Actor) do(ctx actor.Context, j *job) {
	a.busy = true
	self, root := ctx.Self(), j.root
	ok := a.Worker.Do(worker.Job{Run: j.run, Broken: func(v any, stack []byte) {
		j.broken()
		root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: j})
	}})
	if !ok {
		j.Fail(context.Canceled)
	}
}

// passed goes on after a pass.
func (a *Actor) passed(ctx actor.Context, m passed) {
	a.busy = false
	a.gathering.rests(time.Now())
	if p := m.chunk; p != nil {
		p.busy = false
		if m.handed {
			p.lag++ // a Primed that was faster than this message has been counted already
		}
		over := m.err != nil || p.next >= p.Rows
		if over {
			p.window.Back()
			p.window = nil
		}
		a.schedule.settle(p, over)
	}
	a.start(ctx)
}

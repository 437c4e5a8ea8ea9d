package verifier

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/worker"
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
	Whole     *Team        // works with all threads of the device
	Halves    []*Team      // two that work at the same time, with half of the threads each; none: the device cannot be divided
	Chunk     int          // rows of a prefill chunk
	Board     *lanes.Board
	Chunks    *stager.Shelf // of prefill chunks
	OnDemand  bool          // ple mode sync
	Snapshots *Snapshots    // nil: none are taken
}

// Actor schedules passes. What waits in it is lost with it; its worker and everything in Deps outlive it.
type Actor struct {
	Deps
	schedule schedule
	presence presence
	division division
	posts    []post // the whole, then the halves
	looking  bool   // a look message is on its way
}

// mixedRows is the chunk while others decode: about as long as a round of a few sequences.
const mixedRows = 32

// New returns a fresh actor.
func New(d Deps) *Actor {
	a := &Actor{Deps: d, schedule: schedule{chunk: d.Chunk, mixed: mixedRows}, posts: []post{{Team: d.Whole}}}
	for _, t := range d.Halves {
		a.posts = append(a.posts, post{Team: t})
	}
	return a
}

// Receive handles the verifier's inbox.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Prefill:
		a.prefill(ctx, m)
	case Verify:
		a.schedule.verify = append(a.schedule.verify, m)
		a.back(m.Ticket)
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

// back notes that a sequence waits for its next pass.
func (a *Actor) back(t *round.Ticket) {
	a.presence.see(t)
	for i := range a.posts {
		a.posts[i].gathering.back(t)
	}
}

// start runs what can run now.
func (a *Actor) start(ctx actor.Context) {
	deadRounds, deadPrompts := a.schedule.drop()
	for _, v := range deadRounds {
		v.Fail(context.Cause(v.Ticket.Ctx))
	}
	for _, p := range deadPrompts {
		p.Fail(context.Cause(p.Ticket.Ctx))
	}
	sequences := a.presence.count() // which lets go of those who are gone
	if a.posts[0].busy {
		return
	}
	switch turn := a.schedule.turn(); {
	case turn == prompts && a.resting():
		a.startPrompt(ctx)
	case turn != nobody:
		a.startRounds(ctx, sequences)
	}
}

// resting reports whether no pass runs.
func (a *Actor) resting() bool {
	return !slices.ContainsFunc(a.posts, func(p post) bool { return p.busy })
}

// startPrompt runs the next chunk of a prompt, on all threads.
func (a *Actor) startPrompt(ctx actor.Context) {
	root := ctx.ActorSystem().Root
	p := a.schedule.nextPrompt()
	for i := range a.posts {
		a.posts[i].ran = false
	}
	j := &job{Deps: &a.Deps, Team: a.Whole, root: root, self: ctx.Self(), prompt: p, window: p.window, from: p.next, to: p.to}
	p.busy, p.window = true, a.stage(root, p, j.to)
	a.division.stops()
	a.do(ctx, j)
}

// startRounds runs the rounds that wait: of all sequences side by side, or of half of them on each half of the threads. While a chunk of a prompt
// waits each half has one turn, so that those who are late need not wait for the chunk.
func (a *Actor) startRounds(ctx actor.Context, sequences int) {
	if len(a.Halves) == 0 || !a.division.divided(sequences) {
		if a.resting() {
			a.startBatch(ctx, 0, sequences, sequences)
		}
		return
	}
	chunk := a.schedule.runnable() >= 0
	for i := 1; i < len(a.posts) && len(a.schedule.verify) > 0; i++ {
		if p := &a.posts[i]; !p.busy && !(chunk && p.ran) {
			a.startBatch(ctx, i, sequences, (sequences+len(a.Halves)-1)/len(a.Halves))
		}
	}
}

// startBatch runs rounds of at most so many of the sequences at a post, once those are back that ran in step with them.
func (a *Actor) startBatch(ctx actor.Context, at, sequences, most int) {
	now := time.Now()
	if a.schedule.runnable() < 0 && a.awaited(at, now) {
		a.lookAgain(ctx)
		return
	}
	batch := a.schedule.nextBatch(a.posts[at].Pass.MaxRows(), most)
	for _, v := range batch {
		a.presence.see(v.Ticket)
	}
	a.presence.pass()
	a.posts[at].gathering.runs(batch)
	a.posts[at].ran = true
	a.division.starts(sequences, at > 0, now)
	a.do(ctx, &job{Deps: &a.Deps, Team: a.posts[at].Team, root: ctx.ActorSystem().Root, self: ctx.Self(), batch: batch, post: at,
		crowded: at > 0 && sequences > 1})
}

// awaited reports whether the next pass at a post is to wait for more: a half for those that ran there or in the whole, the whole for all.
func (a *Actor) awaited(at int, now time.Time) bool {
	for i := range a.posts {
		if (i == at || i == 0 || at == 0) && a.posts[i].gathering.wait(now) {
			return true
		}
	}
	return false
}

// lookAgain has the verifier look again when everyone who is ready to run now has had a turn.
func (a *Actor) lookAgain(ctx actor.Context) {
	if a.looking {
		return
	}
	a.looking = true
	root, self := ctx.ActorSystem().Root, ctx.Self()
	go func() {
		runtime.Gosched()
		root.Send(self, look{})
	}()
}

func (a *Actor) do(ctx actor.Context, j *job) {
	a.posts[j.post].busy = true
	self, root := ctx.Self(), j.root
	ok := j.Worker.Do(worker.Job{Run: j.run, Broken: func(v any, stack []byte) {
		j.broken()
		root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: j})
	}})
	if !ok {
		j.Fail(context.Canceled)
	}
}

// passed goes on after a pass.
func (a *Actor) passed(ctx actor.Context, m passed) {
	now := time.Now()
	a.posts[m.post].busy = false
	a.posts[m.post].gathering.rests(now)
	if m.rounds > 0 {
		a.division.ends(m.post > 0, m.rounds, m.rows, now)
	}
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

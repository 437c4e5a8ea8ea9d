package stager

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/ple"
)

// Actor hands Stage messages to its worker. It has no state of its own, so a restart loses nothing but a message.
type Actor struct {
	Worker *worker.Worker // outlives the actor
	Maker  *ple.Maker     // used on the worker only
	Layers []*ple.Layer   // whose row caches are counted
	Board  *lanes.Board
}

// Receive handles Stage and Retire.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Stage:
		a.stage(ctx, m)
	case Retire:
		m.free()
	case supervision.Broken:
		panic(m.Err)
	}
}

func (a *Actor) stage(ctx actor.Context, m Stage) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	ok := a.Worker.Do(worker.Job{
		Run: func() { a.make(m) },
		Broken: func(v any, stack []byte) {
			root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: m})
		},
	})
	if !ok {
		m.Gate.Open(context.Canceled)
	}
}

// make runs on the worker: it reads the table rows of each token as it becomes known, and makes the planes of all rows when
// the last is. So what may wait for a disk runs beside the draft, and the projections' weights are walked once a window,
// as on the stock path. A window whose gate is open already has failed and is left alone: its pass makes it inline.
func (a *Actor) make(m Stage) {
	if m.Gate.Ready() {
		return
	}
	if m.Ticket.Dead() {
		m.Gate.Open(context.Cause(m.Ticket.Ctx))
		return
	}
	m.Window.Push(m.Tokens...)
	before := a.rows()
	err := a.Maker.Read(m.Ticket.Ctx, m.Window, m.Window.Rows())
	if err == nil && m.Last {
		err = a.Maker.Make(m.Ticket.Ctx, m.Window, 0, m.Window.Rows())
	}
	after := a.rows()
	a.Board.Add(lanes.PLE, lanes.Use{Hits: after.Hits - before.Hits, Misses: after.Misses - before.Misses, Bytes: after.Bytes - before.Bytes})
	if err != nil {
		m.Gate.Open(err)
		return
	}
	if m.Last {
		a.Board.Add(lanes.PLE, lanes.Use{Windows: 1})
		m.Gate.Open(nil)
	}
}

// rows sums the row caches' counters. Rows that a pass gathers inline meanwhile count too: the figures are of the caches
// while the lane worked.
func (a *Actor) rows() (u lanes.Use) {
	for _, l := range a.Layers {
		if l.Cache != nil {
			st := l.Cache.Stats()
			u.Hits += st.Hits
			u.Misses += st.Misses + st.Direct
			u.Bytes += st.Bytes
		}
	}
	return u
}

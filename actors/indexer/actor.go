package indexer

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/qsa"
)

// Actor keeps the banks of one QSA layer. It has no state of its own, so a restart loses nothing but a message.
type Actor struct {
	Slot    int            // index of the layer among the trunk's QSA layers
	Worker  *worker.Worker // outlives the actor; shared by all indexers
	Pooler  *qsa.Pooler    // used on the worker only; shared by all indexers
	Indexer *qsa.Indexer   // bound once when the model loaded
	Board   *lanes.Board
}

// Receive handles Committed.
func (a *Actor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case Committed:
		a.committed(ctx, m)
	case supervision.Broken:
		panic(m.Err)
	}
}

func (a *Actor) committed(ctx actor.Context, m Committed) {
	self, root := ctx.Self(), ctx.ActorSystem().Root
	ok := a.Worker.Do(worker.Job{
		Run: func() { a.settle(m) },
		Broken: func(v any, stack []byte) {
			root.Send(self, supervision.Broken{Err: &supervision.PanicError{Value: v, Stack: stack}, Work: m})
		},
	})
	if !ok {
		m.Fail(context.Canceled)
	}
}

// settle runs on the worker.
func (a *Actor) settle(m Committed) {
	if m.Ticket.Dead() {
		m.Fail(context.Cause(m.Ticket.Ctx))
		return
	}
	l := m.Ticket.Seq.Attention[a.Slot]
	kept, pooled, err := l.Bank.Settle(a.Pooler, a.Indexer, l.RawKeys(), m.Len)
	if err != nil {
		m.Fail(err)
		return
	}
	a.Board.Add(lanes.QSA, lanes.Use{Windows: 1, Hits: int64(kept), Misses: int64(pooled),
		Bytes: int64(kept+pooled) * int64(a.Indexer.Dim) * 4})
	m.Gate.Open(nil)
	m.Ticket.Seq.Release()
}

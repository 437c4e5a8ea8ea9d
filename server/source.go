package server

import (
	"context"

	"github.com/flashlane/flashlane/actors/intake"
)

// source gives the events of all choices of one job in one order: each choice's own order is kept, and between choices the
// order is that of arrival. It is read by one goroutine.
type source interface {
	next(ctx context.Context) (choice int, e intake.Event, err error)
}

// lone is the source of a single choice: the output itself, with nothing in between.
type lone struct{ out *intake.Output }

func (l lone) next(ctx context.Context) (int, intake.Event, error) {
	e, err := l.out.Next(ctx)
	return 0, e, err
}

// merged is the source of several choices. One goroutine per choice waits for its output; they end with ctx, or with
// the last event of their choice.
type merged struct{ events chan choiceEvent }

type choiceEvent struct {
	choice int
	event  intake.Event
}

func newMerged(ctx context.Context, outs []*intake.Output) merged {
	m := merged{events: make(chan choiceEvent)}
	for i, out := range outs {
		go func() {
			for {
				e, err := out.Next(ctx)
				if err != nil {
					return // ctx has ended, or the last event was read: the reader knows either
				}
				select {
				case m.events <- choiceEvent{i, e}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return m
}

func (m merged) next(ctx context.Context) (int, intake.Event, error) {
	select {
	case e := <-m.events:
		return e.choice, e.event, nil
	case <-ctx.Done():
		return 0, intake.Event{}, context.Cause(ctx)
	}
}

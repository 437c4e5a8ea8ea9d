package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/engine/bundle"
)

// Bridge is a running house as the server sees it. A model without Grammars gets those of the bundle.
func Bridge(s *actors.System, m *Model, b *bundle.Bundle) Engine {
	if m.Grammars == nil && b.Tokenizer != nil {
		m.Grammars = NewGrammars(b.Tokenizer, b.Vocab.Size(), b.StopIDs)
	}
	return &bridge{s, m, b}
}

type bridge struct {
	system *actors.System
	model  *Model
	bundle *bundle.Bundle
}

func (b *bridge) Submit(_ context.Context, r *intake.Request) *intake.Output {
	return b.system.Submit(r)
}

func (b *bridge) Cancel(id, reason string) bool { return b.system.Cancel(id, reason) }

func (b *bridge) Status() Status {
	st := b.system.Status()
	var disk any
	if st.Disk != nil {
		disk = st.Disk
	}
	return Status{
		Disk:   disk,
		Active: st.Active, Queued: st.Queued, Slots: st.Slots, QueueLimit: st.QueueLimit,
		Tokens: uint64(st.Committed), Prompt: uint64(st.Sums.Prompt), Rounds: uint64(st.Sums.Rounds),
		Memory:     Memory{Weights: st.Loaded, Sequences: st.Books.Promised, Snapshots: st.Prefix.Bytes, Buffers: st.Sequences, RowCache: st.Rows.Cache.Held, Limit: st.Books.Limit, Program: accountant.Program(), Resident: accountant.Resident()},
		DeviceKind: b.model.DeviceKind, Precision: b.model.Precision,
		Depth: b.model.Depth, DepthNote: b.bundle.HeadReason, Acceptance: b.model.Rule.String(),
		Pack: b.bundle.Pack.Name, Print: b.model.Fingerprint, Uptime: st.Uptime.Seconds(), Rows: rowsOf(st.Rows),
	}
}

func rowsOf(r actors.Rows) *Rows {
	if r.Tables == 0 {
		return nil
	}
	c, trouble := r.Cache, ""
	if r.Trouble != nil {
		trouble = r.Trouble.Error() + "; put the file back as it was, with its time (cp -p), or restart the server"
	}
	return &Rows{Trouble: trouble, Placement: r.Placement.String(), Tables: r.Tables, Rows: r.Rows, Bytes: r.Bytes,
		Hits: c.Hits, Misses: c.Misses, Direct: c.Direct, Read: c.Bytes, Cold: c.Cold, Errors: c.Errors, Wait: float64(c.WaitNanos) / 1e6, Limit: c.Limit}
}

func (b *bridge) Actors() []ActorInfo {
	infos := b.system.Actors()
	out := make([]ActorInfo, len(infos))
	for i, a := range infos {
		out[i] = ActorInfo(a)
	}
	return out
}

func (b *bridge) Fault(name string) error {
	err := b.system.Fault(name)
	if errors.Is(err, supervision.ErrUnknownActor) {
		return fmt.Errorf("%w: %w", ErrUnknownActor, err)
	}
	return err
}

func (b *bridge) Events(ctx context.Context) <-chan Event {
	in, out := b.system.Events(ctx), make(chan Event)
	go func() {
		defer close(out)
		for e := range in {
			if e.Dropped > 0 {
				e.Data = map[string]any{"dropped": e.Dropped, "event": e.Data}
			}
			select {
			case out <- Event{Type: e.Type, Time: e.Time, Data: e.Data}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (b *bridge) Lanes() []Lane {
	var out []Lane
	for _, s := range b.system.Lanes() {
		out = append(out, laneOf(s))
	}
	return out
}

func laneOf(s lanes.State) Lane {
	return Lane{Name: s.Name, Enabled: s.Enabled, Status: s.Status, Reason: s.Reason, Windows: uint64(s.Windows), Hits: uint64(s.Hits),
		Misses: uint64(s.Misses), Bytes: uint64(s.Bytes), Waits: uint64(s.Waits), FailOver: uint64(s.FailOver), Switches: uint64(s.Switches), WaitMS: float64(s.Wait.Nanoseconds()) / 1e6}
}

func (b *bridge) SetLane(ctx context.Context, name string, on bool) (Lane, error) {
	s, err := b.system.SetLane(ctx, name, on)
	switch {
	case errors.Is(err, lanes.ErrUnknown):
		return Lane{}, fmt.Errorf("%w: %w", ErrUnknownLane, err)
	case errors.Is(err, lanes.ErrDeclined):
		return Lane{}, fmt.Errorf("%w: %w", ErrLaneDeclined, err)
	}
	return laneOf(s), err
}

func (b *bridge) LaneDefaults() any                  { return b.system.LaneDefaults() }
func (b *bridge) Ready() error                       { return b.system.Ready() }
func (b *bridge) Collectors() []prometheus.Collector { return b.system.Collectors() }

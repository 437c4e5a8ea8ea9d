package lanes

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/bus"
)

// ErrDeclined is returned (wrapped) when a lane is to be armed that declined at load.
var ErrDeclined = errors.New("lane declined at load")

// Actor switches lanes. Its only state is the board, which outlives it.
type Actor struct {
	Board *Board
	Bus   *bus.Bus
	Log   zerolog.Logger
}

// Receive handles Set.
func (a *Actor) Receive(ctx actor.Context) {
	if m, ok := ctx.Message().(Set); ok {
		s, err := a.apply(m)
		m.Reply <- SetReply{s, err}
	}
}

func (a *Actor) apply(m Set) (State, error) {
	l, err := Parse(m.Name)
	if err != nil {
		return State{}, err
	}
	if v := a.Board.Verdict(l); m.Enabled && !v.Installed {
		return State{}, fmt.Errorf("%w: %s: %s", ErrDeclined, l, v.Reason)
	}
	changed := a.Board.set(l, m.Enabled)
	s := a.Board.State(l)
	if changed {
		a.Log.Info().Str("lane", s.Name).Bool("enabled", s.Enabled).Int64("switches", s.Switches).Msg("lane switched")
		a.Bus.Publish("lane", s)
	}
	return s, nil
}

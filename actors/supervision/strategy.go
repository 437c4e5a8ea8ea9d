package supervision

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/bus"
)

const (
	firstBackoff = 2 * time.Millisecond
	lastBackoff  = 100 * time.Millisecond
	// budget is how often an actor may fail with no token, of an answer or a prompt, committed in between before the house is given up. A single
	// request is ended after fewer failures (intake), so only an actor that fails by itself gets here.
	budget = 12
)

// House is what all supervised actors share: the register, the event bus, the log, the progress they are judged by.
type House struct {
	Register *Register
	Bus      *bus.Bus
	Log      zerolog.Logger
	Tokens   atomic.Int64    // tokens committed since the start
	Progress atomic.Int64    // the same and prompt rows committed: what actors are judged by
	GiveUp   func(err error) // called once when an actor's budget is spent; must not block
	gaveUp   atomic.Bool
}

// Failure is the event published for every actor failure.
type Failure struct {
	Actor     string `json:"actor"`
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Request   string `json:"request,omitempty"`
	Reason    string `json:"reason"`
	Directive string `json:"directive"`
	Restarts  int    `json:"restarts"`
	BackoffMS int64  `json:"backoff_ms"`
}

// HandleFailure implements actor.SupervisorStrategy: one-for-one, restart after a back-off that grows while no token is
// committed. Every failure is logged once, here.
func (h *House) HandleFailure(_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	e := h.Register.get(child.Id)
	if e == nil {
		e = h.Register.add(child.Id, "unknown")
	}
	progress := h.Progress.Load()
	if progress != e.progress {
		e.streak = 0
	}
	e.progress = progress
	e.streak++

	directive, delay := "restart", Backoff(e.streak)
	if e.streak > budget {
		directive, delay = "escalate", 0
	}
	f := Failure{Actor: child.Id, Kind: e.kind, Reason: fmt.Sprint(reason), Directive: directive,
		Restarts: int(e.restarts.Load()) + 1, BackoffMS: delay.Milliseconds()}
	if env, ok := message.(*actor.MessageEnvelope); ok {
		message = env.Message
	}
	f.Message = fmt.Sprintf("%T", message)
	if b, ok := message.(Blamed); ok {
		f.Request = b.Blame()
	}
	var stack []byte
	var pe *PanicError
	if err, ok := reason.(error); ok && errors.As(err, &pe) {
		stack = pe.Stack
	}
	h.Log.Error().Str("actor", f.Actor).Str("kind", f.Kind).Str("message_type", f.Message).Str("request", f.Request).
		Str("reason", f.Reason).Str("directive", f.Directive).Int("restarts", f.Restarts).Int64("backoff_ms", f.BackoffMS).
		Bytes("stack", stack).Msg("actor failed")
	h.Bus.Publish("supervision", f)

	if directive == "escalate" {
		e.state.Store(&stopped)
		supervisor.StopChildren(child)
		if h.gaveUp.CompareAndSwap(false, true) && h.GiveUp != nil {
			h.GiveUp(fmt.Errorf("actor %s failed %d times with no progress: %v", f.Actor, e.streak, reason))
		}
		return
	}
	e.state.Store(&restarting)
	h.Register.restarted(e)
	time.AfterFunc(delay, func() { supervisor.RestartChildren(child) })
}

// Backoff is the pause before the n-th restart in a row without progress (n from 1): 2 ms doubling to 100 ms.
func Backoff(n int) time.Duration {
	d := firstBackoff
	for range n - 1 {
		if d *= 2; d >= lastBackoff {
			return lastBackoff
		}
	}
	return d
}

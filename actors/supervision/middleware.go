package supervision

import (
	"errors"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// errFault is the panic of an injected fault (POST /debug/fault).
var errFault = errors.New("injected fault")

// Middleware wraps every Receive of an actor of the given kind: registers it, counts and times its messages, injects
// armed faults, and on a panic settles what the message owed and re-panics with the stack.
func (h *House) Middleware(kind string) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
			path := ctx.Self().Id
			e := h.Register.get(path)
			switch env.Message.(type) {
			case *actor.Started:
				if e == nil {
					e = h.Register.add(path, kind)
				}
				e.state.Store(&running)
			case *actor.Stopped:
				h.Register.remove(path)
			}
			start := time.Now()
			defer func() {
				if e != nil {
					e.received.Add(1)
					e.busy.Add(int64(time.Since(start)))
				}
				if v := recover(); v != nil {
					panic(settle(env.Message, v))
				}
			}()
			if e != nil && user(env.Message) && e.strike(env.Message) {
				panic(errFault)
			}
			next(ctx, env)
		}
	}
}

// settle lets a lost message pay what it owes and returns the panic to go on with.
func settle(msg, value any) *PanicError {
	err, ok := value.(*PanicError)
	if !ok {
		err = &PanicError{Value: value, Stack: debug.Stack()}
	}
	if o, ok := msg.(Owed); ok {
		o.Fail(err)
	}
	return err
}

// user reports whether a message is one of ours and not a life-cycle notice.
func user(msg any) bool {
	switch msg.(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated:
		return false
	}
	return true
}

package supervision

import (
	"errors"
	"fmt"
)

// Owed is a message whose loss somebody would wait for: a gate to open, a round to end. When the actor that received it
// panics, or dies with the message in hand, Fail is called once with the reason. Fail must not block.
type Owed interface {
	Fail(err error)
}

// ErrNobody is what a message fails with that reached no actor: its receiver has stopped. Sending it again is useless.
var ErrNobody = errors.New("nobody is there any more")

// MaxTries is how often a message that was lost with an actor is sent again before it is given up.
const MaxTries = 3

// Blamed is a message that belongs to one request, so that a failure can be told with its name.
type Blamed interface {
	Blame() string
}

// PanicError is a panic with the stack where it happened.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value; the stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap gives the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Broken is what an actor sends itself when a job of its worker panicked: receiving it panics again, so that device work
// fails through the same supervision as a message.
type Broken struct {
	Err  *PanicError
	Work Owed // what the job owed; may be nil
}

// Fail passes the loss on to the job's own debt.
func (b Broken) Fail(err error) {
	if b.Work != nil {
		b.Work.Fail(err)
	}
}

// Blame names the job's request.
func (b Broken) Blame() string {
	if w, ok := b.Work.(Blamed); ok {
		return w.Blame()
	}
	return ""
}

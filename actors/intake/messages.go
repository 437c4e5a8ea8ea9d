package intake

import (
	"errors"
	"fmt"
	"time"

	"github.com/flashlane/flashlane/actors/supervision"
)

// Submit hands a request over. Sent by the client; answered on Output.
type Submit struct {
	Request *Request
	Output  *Output
	At      time.Time

	desk  *Desk
	again func(Submit)
	tries int
}

// SendSubmit hands r over by send, again if it is lost on the way.
func SendSubmit(send func(Submit), desk *Desk, r *Request, out *Output) {
	send(Submit{Request: r, Output: out, At: time.Now(), desk: desk, again: send})
}

// Fail hands the request over again; when that was in vain too often it ends.
func (s Submit) Fail(err error) {
	s.desk.forget(s.Request.ID)
	if s.tries++; s.tries < supervision.MaxTries && !errors.Is(err, supervision.ErrNobody) {
		s.again(s)
		return
	}
	s.Output.Push(Event{Kind: Failed, Err: fmt.Errorf("%w: request %s: %w", ErrInternal, s.Request.ID, err)})
}

// Blame names the request.
func (s Submit) Blame() string { return s.Request.ID }

// Cancel ends a request, running or queued. Sent by the client.
type Cancel struct {
	ID     string
	Reason string

	again func(Cancel)
}

// SendCancel sends a cancel by send, again if it is lost.
func SendCancel(send func(Cancel), id, reason string) {
	send(Cancel{ID: id, Reason: reason, again: send})
}

// Fail sends the cancel again, after the restart that lost it.
func (c Cancel) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		c.again(c)
	}
}

// Blame names the request.
func (c Cancel) Blame() string { return c.ID }

// Shut ends everything: queued and running requests are told, new ones refused. Sent once by the system.
type Shut struct{}

// ended tells the intake that a session has left its slot.
type ended struct {
	id string

	again func(ended)
}

// Fail sends the notice again, after the restart that lost it.
func (e ended) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		e.again(e)
	}
}

// spawn asks the nursery for a session.
type spawn struct {
	entry *entry

	desk  *Desk
	again func(spawn)
	tries int
}

// Fail asks again; when that was in vain too often the request ends.
func (s spawn) Fail(err error) {
	if s.tries++; s.tries < supervision.MaxTries && !errors.Is(err, supervision.ErrNobody) {
		s.again(s)
		return
	}
	s.desk.forget(s.entry.request.ID)
	s.entry.output.Push(Event{Kind: Failed, Err: fmt.Errorf("%w: request %s: %w", ErrInternal, s.entry.request.ID, err)})
}

// Blame names the request.
func (s spawn) Blame() string { return s.entry.request.ID }

// opened brings a session its new sequence. Sent by the store's worker.
type opened struct {
	Opened
	epoch int
	lost  func(err error) // tells the session that it never came
}

// Fail frees the sequence; the session starts over.
func (o opened) Fail(err error) {
	o.free()
	if !errors.Is(err, supervision.ErrNobody) {
		o.lost(err)
	}
}

// stop asks a session to end its request.
type stop struct {
	err error

	again func(stop)
}

// Fail sends it again, after the restart that lost it.
func (s stop) Fail(err error) {
	if !errors.Is(err, supervision.ErrNobody) {
		s.again(s)
	}
}

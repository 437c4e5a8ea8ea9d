package lanes

import (
	"errors"

	"github.com/flashlane/flashlane/actors/supervision"
)

// Set asks for a lane to be put in or out of force. Sent by the engine's client; answered on Reply, which must have room
// for one value.
type Set struct {
	Name    string
	Enabled bool
	Reply   chan<- SetReply

	Again func(Set) // sends it again after a restart that lost it
	tries int
}

// SetReply answers a Set: the lane as it stands now, or why it cannot be.
type SetReply struct {
	State State
	Err   error
}

// Fail sends the Set again; when that was in vain too often it answers with the reason.
func (s Set) Fail(err error) {
	if s.tries++; s.tries < supervision.MaxTries && !errors.Is(err, supervision.ErrNobody) {
		s.Again(s)
		return
	}
	s.Reply <- SetReply{Err: err}
}

package server

import (
	"context"
	"errors"
	"time"

	"github.com/flashlane/flashlane/actors/intake"
)

// feed reads a job's events and says when it was quiet for too long. One timer lives for a whole quiet period, not
// for a token: while events come nothing is allocated.
type feed struct {
	from   source
	parent context.Context // ends when the client leaves or the server ends
	every  time.Duration   // silence that counts as quiet

	timed context.Context
	stop  context.CancelFunc
}

// next returns the next event, or quiet when the client has heard nothing for f.every; idle is how long that is already.
// The error is the parent's cause.
func (f *feed) next(idle time.Duration) (choice int, e intake.Event, quiet bool, err error) {
	begin := time.Now()
	for {
		if f.timed == nil {
			f.timed, f.stop = context.WithTimeout(f.parent, f.every-idle)
		}
		choice, e, err = f.from.next(f.timed)
		switch {
		case err == nil:
			return choice, e, false, nil
		case f.parent.Err() != nil:
			return 0, e, false, context.Cause(f.parent)
		case !errors.Is(err, context.DeadlineExceeded):
			return 0, e, false, err
		}
		f.close()
		// The timer may have been set for an earlier silence that an event broke.
		if idle += time.Since(begin); idle >= f.every {
			return 0, e, true, nil
		}
		begin = time.Now()
	}
}

// close frees the timer.
func (f *feed) close() {
	if f.stop != nil {
		f.stop()
	}
	f.timed, f.stop = nil, nil
}

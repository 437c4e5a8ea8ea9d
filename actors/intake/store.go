package intake

import (
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/gate"
)

// Store opens sequences, from a snapshot of their beginning where there is one, and keeps what finished ones leave behind.
// It copies device memory on a worker of its own; no call waits.
type Store interface {
	// Open makes a sequence for the ledger and hands it to done, on the worker. Prompt of its tokens are the prompt; fresh
	// looks for no snapshot.
	Open(ledger []int32, prompt int, drafts, fresh bool, done func(Opened))
	// Keep takes over a sequence whose request has ended.
	Keep(l Leaving)
}

// Opened is a new sequence, with one reference.
type Opened struct {
	Seq  *state.Sequence
	From int         // rows it has already
	Kept *state.Kept // streams of its last rows, that the drafter has yet to catch up with; nil: none
	Err  error       // wraps metal.ErrMemory where that is why
}

// free gives up a sequence that nobody wants any more.
func (o Opened) free() {
	o.Kept.Free()
	if o.Seq != nil {
		o.Seq.Release()
	}
}

// Leaving is a sequence at the end of its turn, with the session's reference.
type Leaving struct {
	Seq    *state.Sequence
	IDs    []int32      // the tokens of its rows; read only
	Prompt int          // how many of them are the prompt
	Kept   *state.Kept  // streams of the last round's rows; nil: the snapshot will not draft
	Banks  []*gate.Gate // what the indexers may still be at
}

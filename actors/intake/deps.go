package intake

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// Peers are the actors a session talks to.
type Peers struct {
	Drafter, Verifier, Intake *actor.PID
}

// Deps is what lives as long as the model.
type Deps struct {
	House   *supervision.House
	Board   *lanes.Board
	Peers   func() Peers
	Context int                                    // most positions of a sequence
	StopIDs []int32                                // the pack's own stop ids
	Vocab   *sample.Vocab                          // for samplers
	Text    *tokenizer.Tokenizer                   // nil: the pack has none, answers are ids only
	Store   Store                                  // opens sequences
	Drafts  bool                                   // the pack has an MTP head
	Need    func(positions int, drafts bool) int64 // device memory a request may come to hold
	Totals  *Totals
}

package verifier

import (
	"slices"

	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/model"
)

// Team is what one pass at a time takes. Pass and Logits are used on the Worker only; teams may share one.
type Team struct {
	Worker *worker.Worker
	Pass   *model.Pass
	Logits *Logits
}

// Logits is host memory for the rows of one sequence at a time, and for what a grammar allows after each.
type Logits struct {
	Vocab int
	Words int // of a mask
	rows  [][]float32
	masks [][]uint64
}

// allow are n masks to be filled; who gets them may set some to nil.
func (l *Logits) allow(n int) [][]uint64 {
	for len(l.masks) < n {
		l.masks = append(l.masks, make([]uint64, l.Words))
	}
	return slices.Clone(l.masks[:n])
}

// post is a team and what it is at.
type post struct {
	*Team
	busy      bool
	ran       bool // rounds, since the last chunk of a prompt
	gathering gathering
}

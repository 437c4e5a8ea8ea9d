package model

import (
	"time"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/ple"
)

// LogitsMode says for which rows of a segment logits are computed.
type LogitsMode uint8

// The rows whose logits are wanted.
const (
	LogitsNone LogitsMode = iota
	LogitsLast
	LogitsAll
)

// Class is the class of positions a segment's rows belong to (design, promise 1). A device with separate prefill
// kernels (metal.Info.PromptRows) runs prompt rows with them; on all others the classes are one.
type Class uint8

// The classes.
const (
	Decode Class = iota
	Prompt
)

// Segment is a run of rows appended to one sequence in a pass. The caller fills the upper part; Run fills Counts.
type Segment struct {
	Seq     *state.Sequence
	Tokens  []int32      // one per row, at positions Seq.Len, Seq.Len+1, ...
	History []int32      // committed tokens before Seq.Len, oldest first: at least the last ngram_size-1 that exist
	Window  *ple.Window  // the rows' PLE planes, made elsewhere; nil: made inline
	Ask     func()       // if set, called when the pass needs Window, before it waits (ple mode sync)
	Banks   []*gate.Gate // per trunk attention layer: opens when its bank is settled; nil slice or entry: it is now
	Draft   bool         // rows may be taken back at Commit
	Logits  LogitsMode
	Class   Class

	Counts // of the last Run
}

// Counts is how a segment's rows got what others may make for them.
type Counts struct {
	Hits     int // 1 if the window came made
	Inline   int // 1 if the pass made the window itself, whether asked to or as fail-over
	FailOver int // promises that were broken (window or bank) and made good inline
	Settled  int // banks found settled at scoring
	Pooled   int // banks the pass had to settle itself at scoring

	WindowWait time.Duration // waited at the PLE layer
	BankWait   time.Duration // waited at attention layers

	Reason error // of the last fail-over
}

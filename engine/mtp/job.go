package mtp

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// ErrJob marks a job that does not fit: its sequence, or the head. Nothing was run.
var ErrJob = errors.New("mtp: bad job")

// Job is one sequence's part of a pass.
type Job struct {
	Seq  *state.Sequence // with MTP caches (Head.Attach)
	Kept *state.Kept     // the trunk's streams of rows Kept.Pos.., which continue the caches; not freed here
	Next []int32         // the true next token of each kept row

	// Depth is how many drafts are wanted; 0 only catches up.
	Depth int
	// Propose is given the logits [V] of draft step 0, 1, ... and returns the draft. A negative id ends the chain, an
	// error does so too and is left in Err. It may change the logits; they are valid until it returns.
	Propose func(step int, logits []float32) (int32, error)
	// Known, if set, is called as soon as the token of a row of the coming verify pass is known: row 0 is the committed
	// token (the last of Next), row j the j-th draft.
	Known func(row int, token int32)

	Err error // why the chain ended early, set by Draft
}

// check says why a job cannot be run.
func (h *Head) check(j *Job) error {
	switch {
	case j.Seq == nil || j.Seq.MTP == nil:
		return fmt.Errorf("%w: its sequence has no MTP caches", ErrJob)
	case j.Kept == nil || j.Kept.Rows < 1:
		return fmt.Errorf("%w: no kept rows", ErrJob)
	case len(j.Next) != j.Kept.Rows:
		return fmt.Errorf("%w: got %d next tokens for %d kept rows", ErrJob, len(j.Next), j.Kept.Rows)
	case j.Kept.Pos > j.Seq.MTP.Len:
		return fmt.Errorf("%w: kept rows begin at position %d, want at most %d: rows are missing between", ErrJob, j.Kept.Pos, j.Seq.MTP.Len)
	case j.Kept.Pos+j.Kept.Rows > j.Seq.MTP.Limit():
		return fmt.Errorf("%w: got %d rows, want at most %d (the context)", ErrJob, j.Kept.Pos+j.Kept.Rows, j.Seq.MTP.Limit())
	case j.Depth > 0 && j.Propose == nil:
		return fmt.Errorf("%w: depth %d without Propose", ErrJob, j.Depth)
	}
	for i, id := range j.Next {
		if err := h.known(id); err != nil {
			return fmt.Errorf("%w: next token %d: %w", ErrJob, i, err)
		}
	}
	return nil
}

func (h *Head) known(id int32) error {
	if id < 0 || int(id) >= h.m.Config.Vocab {
		return fmt.Errorf("got id %d, want 0 to %d", id, h.m.Config.Vocab-1)
	}
	return nil
}

// span is a job's rows in the current step.
type span struct {
	metal.Span
	job *Job
	src metal.Mat // streams that the rows are built from
}

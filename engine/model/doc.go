// Package model is the trunk: it loads a pack onto a device and runs the forward pass (spec section 2), once, over
// metal.Stream. The MTP head is engine/mtp, built from the same blocks (engine/model/block).
//
// A [Pass] runs rows of one or more sequences side by side: each [Segment] appends rows to one sequence. Prefill and
// verification are the same pass; they differ in whether rows may be taken back. Life of a segment:
//
//	Run     the rows go through all layers; caches above the sequence's length are written
//	Commit  the first keep rows become part of the sequence, the rest leaves no trace (spec section 4)
//	Abort   none does: a draft's sequence is as before Run, a prefill's counts as broken
//
// A draft (Segment.Draft) never touches committed states: the recurrence runs from the committed buffer into a second
// one, and the pass holds on to the few rows a commit needs to redo it for fewer rows. Prefill writes in place.
//
// Two things may come from elsewhere, and a pass waits for each at the layer that needs it, not earlier: the window of
// the PLE plane at the PLE layer, and a layer's bank of pooled keys once a row sees more blocks than the budget. When
// either is missing or late with an error, the pass makes it itself with the same functions, so to the same bits.
//
// Nothing here starts a goroutine. A Pass is for one goroutine at a time; a Model is immutable and shared.
package model

// Package state is everything one sequence holds on a device (spec section 4): KV and raw index keys per attention
// layer, the recurrent state and convolution tail per gated-delta-net layer, the convolution tail per PLE layer, the
// pooled-key banks, and, when the sequence drafts, the caches of the MTP layer.
//
// Live and dead rows. Caches kept per position are plain arrays from position 0; only the rows below the length are
// live. Rows above it may hold what a rejected draft wrote; nothing reads them before a later pass overwrites them.
// States that cannot be cut (the recurrent state, the tails) live in pairs of buffers: a pass that may be rolled back
// reads the one and writes the other, and a commit swaps them.
//
// Owners (design section 3, State). A [Sequence] takes no locks. The verifier owns the trunk caches, the drafter owns
// [MTPCaches], and the bank of a layer belongs to that layer's indexer between the messages Committed and Pooled and to
// the verifier at all other times. [Sequence.Retain] and [Sequence.Release] may be called from any goroutine.
package state

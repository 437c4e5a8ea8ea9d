// Package metal is the device seam: what the model may ask of a processor.
//
// A [Device] owns memory ([Buffer]) and weights ([Weight]) and hands out [Stream]s. A Stream runs the model's own blocks
// (embed, grouped norm, quantised linear, stream mix and inject, delta rule, sparse attention, experts, PLE gate), one
// method per block, one file per block, the same file name in each device. The forward pass in engine/model is written
// once over Stream; metal/conform holds the cases every device must pass.
//
// A Stream may run an op later: results are visible to later ops of the same Stream at once, and to the host after
// [Stream.Read], [Stream.ReadInts] or [Stream.Sync]. Errors of queued work (a lost device, memory) are sticky and are
// returned there. Shape mistakes are ours, not the user's, and panic with the shapes in the text.
//
// Row-exactness, the rule everything else rests on: the bits of a result row depend on that row's inputs (and the state
// of its own sequence) only, never on how many rows, spans, threads or callers run beside it.
//
// Axis letters used by all comments here: R rows of a pass, H hidden, S residual streams, W = S*H, K inner (input) size,
// N output size, T tokens.
package metal

// Package mtp is the multi-token-prediction head (spec section 3): one attention layer of its own behind the trunk's
// streams, with its own caches, that shares the trunk's embedding and head. The drafter runs it.
//
// Row p of the caches is built from the trunk's streams at position p and the token at p+1. A turn of the drafter
// catches up with the rows committed since the last one, takes draft 1 from the last of them, and chains: the head's
// own streams and the draft just made are the next row. The rows of a chain are speculative; they are dropped when the
// turn ends, and the next turn rebuilds them from the trunk's own streams.
//
// Rows whose answer nobody wants cost only what they leave behind: norms, projections, mix, keys, values and index keys,
// but neither attention nor experts. So priming a prompt (spec 3.3) is cheap.
//
// Draft mistakes cost acceptance, never correctness: nothing here can change what the verifier emits.
package mtp

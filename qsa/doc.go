// Package qsa keeps the pooled index keys of query sparse attention: which blocks exist, how their keys are made, and the
// bank that holds the committed ones (spec 2.5, 4).
//
// A block is Ratio consecutive positions. Its pooled key is made once all of them exist: mean of the raw keys, norm, rope at
// the block's first position. A block is scored first by the very row that completes it, so a pass pools the blocks its own
// rows complete into scratch ([Bank.PoolScratch]) and chooses over bank and scratch together ([Bank.SelectSpan]). When the
// pass's rows are committed, [Bank.Settle] brings the bank up to date: kept scratch rows are selected into it, others are
// pooled from the raw keys. Both ways have the same bits. The bank holds committed blocks only, by position, so a rejected
// draft leaves no trace in it.
//
//	verifier:  PoolScratch -> SelectSpan -> (sample, accept, commit)
//	indexer:   Settle, while the next draft runs
//
// An [Indexer] is the metadata of one attention layer, bound once when the model loads; all indexers share one [InvFreq]
// by identity. A [Pooler] is a goroutine's stream and scratch: verifier and indexers work on different goroutines and share
// nothing but the bank, which has one owner at a time.
//
// The package starts no goroutines, and knows no mailboxes and no model; [Check] is the lane's install check as a pure
// function. [PoolRef], [ScoreRef], [SelectRef] and [DenseRef] are the definitions in plain Go, for tests.
package qsa

// Package indexer is the actor of the lane qsa_pooled_rowsel: one per trunk QSA layer. After every pass it brings the
// layer's pooled-key bank of the sequence up to the committed length, while the next draft runs (design, sections 3 and
// 5). The work itself is qsa.Bank.Settle.
//
//   - owns: the bank of its layer of a sequence from Committed until the gate opens (that is the design's Pooled)
//   - receives: Committed (verifier, after every pass)
//   - sends: nothing; it opens the gate that the next pass waits on
//   - fails: a lost Committed opens its gate with an error, and the next pass settles the bank inline (counted as fail-over)
package indexer

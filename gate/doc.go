// Package gate is the one-shot promise that a pass waits on: a plane that the stager builds, a bank that an indexer keeps.
//
// Whoever owes a gate opens it exactly once, with nil or with an error; later calls change nothing. A pass waits on the
// gate carried by its window, never on a mailbox (design, section 6).
package gate

// Package round holds what travels with a round through the house: the [Ticket] of a request's sequence, [Lost], the
// notice that a round will not come back, and the small clock that tells where a round's time went.
//
// It is the vocabulary shared by session, drafter, verifier, stager and indexers; it owns nothing and starts nothing.
package round

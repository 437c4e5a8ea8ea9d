// Package drafter is the actor that runs the MTP head: it primes its caches from prefill chunks, catches up with the rows
// committed since its last turn, chains drafts, tells the stager each row as its token becomes known, and passes the round
// on to the verifier (design, section 3). The passes are engine/mtp.
//
//   - owns: the MTP caches of a sequence; the streams handed to it (state.Kept) until it has used them
//   - receives: Draft and, behind it, the note of Committed (session), Chunk (verifier), drafted (its worker)
//   - sends: Stage to the stager, Verify and Primed to the verifier
//   - fails: rounds and chunks it held are Lost and their sessions rebuild them; a lost Committed costs a count
package drafter

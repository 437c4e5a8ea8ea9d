// Package verifier is the actor that runs the trunk: prompts in chunks, and the rows of every drafting sequence side by
// side; it samples, accepts, commits and rolls back (design, section 3). The rules are engine/verify, the passes
// engine/model; what runs next is decided by [schedule], a plain value with no actor in it.
//
//   - owns: the trunk caches of a sequence while it holds the sequence's round; its teams: passes and their workers
//   - receives: Prefill (session), Verify (drafter), Primed (drafter: the credit for one more chunk), passed (its worker)
//   - sends: Progress and Committed to the session, Chunk to the drafter, Committed to the indexers, Stage
//     to the stager in prefill
//   - fails: rounds it held are Lost and their sessions rebuild them; a pass that runs meanwhile ends and sends its result
package verifier

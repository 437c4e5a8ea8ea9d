// Package stager is the actor of the lane ple_cached_aux: it makes the n-gram planes of a window beside the draft, so
// that the verifier finds them ready at the PLE layer (design, sections 3 and 5). The work itself is ple.Maker.
//
//   - owns: a window's planes from the first Stage until its gate opens; one ple.Maker on one worker
//   - receives: Stage (drafter: one per row as its token becomes known; verifier: one per prefill chunk), Retire (whoever
//     ends a window uncleanly)
//   - sends: nothing; it opens the window's gate
//   - fails: a lost Stage opens its window's gate with an error, and the pass makes the window inline (counted as fail-over)
package stager

// Package verify decides, at the end of a verify pass, which tokens a round emits: it goes down the rows, takes each row's token, and stops at the
// first that is not the draft of that row.
//
// The verifier calls [Accept] with the trunk's logits of the rows and the drafts that the drafter proposed; what comes back are the tokens to commit, the last of which
// is not yet in any cache. The package is pure: no goroutine, clock, device or state of its own.
//
// # Rules
//
// [Coupled], the default: each row's token is the sampler's own, drawn with the noise of its position, whatever the draft says; a draft is accepted if it is that token. So the
// drafts decide how many tokens a round emits and never which. The drafter draws with the same noise, and therefore guesses right with
// probability at least (1-TV)/(1+TV) (Daliri, Musco, Suresh 2024, arXiv 2408.07978).
//
// [Residual]: a draft d from distribution q is accepted with probability min(1, p(d)/q(d)); else the token comes from the residual
// (p-q)+, normalised; after the last draft one more token comes from p (Leviathan et al. 2023; Chen et al. 2023). The tokens follow p exactly, but which ones they are depends on the drafts.
// It accepts with probability 1-TV, the most any rule can. Its uniforms are those of the position, in domains of their own, so a run with the same drafts repeats to the byte.
//
// # Positions
//
// The token that will sit at absolute position t is decided from the logits of row t-1, with the noise of t.
package verify

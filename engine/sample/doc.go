// Package sample turns one row of logits into one token, as a pure function of the row, the request's parameters, its seed, the
// token's absolute position and the tokens before it.
//
// It sits at the end of a pass: the verifier samples the trunk's rows with it, the drafter samples its own rows with the same
// parameters and the same noise, and engine/verify compares the two. Nothing here has hidden state: a sample does not depend on
// how many samples were drawn before, by whom or in which order, so that drafting, batching and restarts cannot change the text.
//
// # Order of the steps (design, section 4)
//
//  1. forbidden ids (ids the tokenizer lacks, then the caller's bitset, for grammars)
//  2. logit bias
//  3. repetition penalty over prompt and output: a positive logit is divided, a negative one multiplied
//  4. presence and frequency penalties over the output
//  5. temperature; temperature 0 ends here with the argmax
//  6. top-k
//  7. top-p over the renormalised rest, keeping the token that crosses p
//  8. min-p, relative to the most probable token
//  9. argmax over what remains of log p_i + G(seed, position, i), G a Gumbel variate
//
// Equal logits are ordered by id, the lowest first, everywhere. Step 2 and steps 3 to 4 each work in float64 and round to float32 once.
//
// # Noise
//
// G comes from Philox4x32-10, a counter-based generator: see [Noise] for the bit layout.
//
// # The same bits on every CPU
//
// Logarithm and exponential are this package's own ([math.Log] and [math.Exp] are assembly on some machines, with other last bits), and every
// product that is added to something is rounded explicitly, so that no compiler fuses the two. The mass of top-p is summed in integers,
// so that the order of summation does not matter.
//
// # Types
//
// [Params] are a request's settings, [Vocab] the ids that exist, [Sampler] the two bound together with scratch space, [History] the
// token counts behind the penalties, [Dist] a filtered distribution written out.
package sample

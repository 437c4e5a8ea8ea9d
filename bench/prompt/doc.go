// Package prompt makes prompts of an exact length in templated tokens: the server counts, nothing is guessed. Words are drawn
// from a fixed list by a seed, so that a prompt is the same on every machine for the same tokenizer, and prompts of different
// seeds share no more than the template, unless they are asked to.
package prompt

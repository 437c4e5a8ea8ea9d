// Package lint holds the house rules that a compiler does not know, as tests: which way imports run, that every package
// introduces itself, that nothing hides. Each failure says what to do instead.
package lint

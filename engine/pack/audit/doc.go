// Package audit checks a pack to the last byte, which opening it does not: every number is finite, hash constants are
// the config's, tokenizer and template fit the vocabulary, and everything is what the manifest says, if there is one.
//
//	a, err := audit.New(p)                           // quick checks; an opened pack has passed those of its headers
//	for _, j := range a.Jobs() { err = j.Run(ctx, nil) }  // reads every tensor; several goroutines may share them
//	for _, s := range a.Steps() { ... }              // what was checked, and what is wrong
//
// It reads by runs of bytes, whatever a tensor's size, and starts no goroutines.
package audit

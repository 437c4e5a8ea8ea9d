// Package fake is a small server that speaks as much of flashlane's HTTP as the measuring tools use, for their tests. A word
// is a token; an answer is a pure function of prompt, seed and length; faults can be asked for, to see that they are noticed.
package fake

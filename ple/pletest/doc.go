// Package pletest builds small n-gram tables and faulty readers for tests of ple and of what stands on it.
//
// [Table] makes a random table of any format, shards and placement from a seed; [Reader] is a file that can be told to
// fail, to end early or to answer late.
package pletest

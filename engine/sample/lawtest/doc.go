// Package lawtest holds empirical counts against a discrete law, for tests of samplers: Pearson's chi-square with a fixed critical value.
//
// With fixed seeds the outcome of such a test is deterministic. A test should also show its power: that a slightly wrong law is rejected.
package lawtest

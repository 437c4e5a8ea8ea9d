//go:build !unix

package ple

// adviseRandom has nobody to tell here.
func adviseRandom([]byte) {}

//go:build !linux

package ple

func filePages() int64  { return 0 }
func dropMapped([]byte) {}

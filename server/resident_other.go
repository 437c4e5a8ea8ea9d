//go:build !linux

package server

// resident is unknown here.
func resident() int64 { return 0 }

//go:build !amd64

package cpu

// pause would tell the core that this is a spin loop; Go offers no portable way.
func pause() {}

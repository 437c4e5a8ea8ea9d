package cpu

// pause tells the core that this is a spin loop.
//
//go:noescape
func pause()

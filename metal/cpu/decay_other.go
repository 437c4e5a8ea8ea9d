//go:build !amd64

package cpu

// headDecay has assembly on amd64 only.
func headDecay(_ simd, _, _, _, _, _, _ []float32) int { return 0 }

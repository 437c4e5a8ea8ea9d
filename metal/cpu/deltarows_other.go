//go:build !amd64

package cpu

// headDeltaRows has assembly on amd64 only.
func headDeltaRows(_ simd, _, _, _ []float32, _, _, _, _ mat) bool { return false }

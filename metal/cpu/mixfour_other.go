//go:build !amd64

package cpu

// headMix has assembly on amd64 only.
func headMix(simd, []float32, []float32, []float32, int, int, float32) int { return 0 }

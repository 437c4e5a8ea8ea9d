//go:build !amd64

package cpu

// headAddUp has assembly on amd64 only.
func headAddUp(_ simd, _ []float32, _ []term, _ []float32, _ int, _ []float32) int { return 0 }

// headInject as well.
func headInject(_ simd, _, _ []float32, _ int, _ []float32) int { return 0 }

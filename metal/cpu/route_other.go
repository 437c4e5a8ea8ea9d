//go:build !amd64

package cpu

// routeRow has assembly on amd64 only.
func routeRow(_ simd, _ []int32, _, _ []float32) bool { return false }

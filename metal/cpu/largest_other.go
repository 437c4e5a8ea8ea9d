//go:build !amd64

package cpu

// headLargest is the largest of the n values that fill whole lanes, -Inf if there is none.
func headLargest(k simd, x []float32) (top float32, n int) { return largestLane(k, x) }

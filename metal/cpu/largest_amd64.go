package cpu

// headLargest is the largest of the n values that fill whole lanes, -Inf if there is none.
func headLargest(k simd, x []float32) (top float32, n int) {
	n = len(x) &^ 15
	if k != simdAVX512 || n == 0 {
		return largestLane(k, x)
	}
	return largestAVX512(&x[0], n), n
}

//go:noescape
func largestAVX512(x *float32, n int) float32

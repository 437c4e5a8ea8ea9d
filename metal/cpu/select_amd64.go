package cpu

// headPositive adds what is above 0 of the first whole 16s of x.
func headPositive(k simd, sum, x []float32) int {
	n := len(sum) &^ 15
	if k != simdAVX512 || n == 0 {
		return 0
	}
	addPositiveAVX512(&sum[0], &x[:n][0], n)
	return n
}

//go:noescape
func addPositiveAVX512(sum, x *float32, n int)

package cpu

// headConv4 does all taps of a kernel of four at once, for the columns that fill whole lanes; w holds tap j at j*c. It says
// whether it has applied silu to them too.
func headConv4(k simd, y []float32, x *[4][]float32, w []float32, c int) (done int, silu bool) {
	n := len(y) &^ 15
	if k != simdAVX512 || n == 0 {
		return 0, false
	}
	conv4AVX512(&y[0], &x[0][:n][0], &x[1][:n][0], &x[2][:n][0], &x[3][:n][0], &w[:3*c+n][0], 4*c, n)
	return n, true
}

//go:noescape
func conv4AVX512(y, x0, x1, x2, x3, w *float32, taps, n int)

package cpu

import "unsafe"

// headSquares sets acc to the lanes of the sum of squares of the first whole 16s of x.
func headSquares(k simd, acc *[16]float32, x []float32) int {
	n := len(x) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	squaresNEON(acc, &x[0], n)
	return n
}

// headDot sets acc to the lanes of <a, b> over the first whole 16s.
func headDot(k simd, acc *[16]float32, a, b []float32) int {
	n := len(a) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	dotNEON(acc, &a[0], &b[:n][0], n)
	return n
}

// headDotFused is headDot with fused multiply-add.
func headDotFused(k simd, acc *[16]float32, a, b []float32) int {
	n := len(a) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	dotFusedNEON(acc, &a[0], &b[:n][0], n)
	return n
}

// headMax raises the lanes of acc to the largest of the first whole 16s of x; a NaN is passed over.
func headMax(k simd, acc *[16]float32, x []float32) int {
	n := len(x) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	maxNEON(acc, &x[0], n)
	return n
}

// headScale sets y = (x * inv) * w.
func headScale(k simd, y, x, w []float32, inv float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	scaleByNEON(&y[0], &x[:n][0], &w[:n][0], n, inv)
	return n
}

// headMul sets y = x * w.
func headMul(k simd, y, x, w []float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	mulNEON(&y[0], &x[:n][0], &w[:n][0], n)
	return n
}

// headMulAdd sets y = y + x*w.
func headMulAdd(k simd, y, x, w []float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	mulAddNEON(&y[0], &x[:n][0], &w[:n][0], n)
	return n
}

// headConv4 does all taps of a kernel of four at once, for the columns that fill whole lanes; w holds tap j at j*c. It says
// whether it has applied silu to them too.
func headConv4(k simd, y []float32, x *[4][]float32, w []float32, c int) (done int, silu bool) {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0, false
	}
	conv4NEON(&y[0], &x[0][:n][0], &x[1][:n][0], &x[2][:n][0], &x[3][:n][0], &w[:3*c+n][0], 4*c, n)
	return n, false
}

// asmTokens bounds the keys or values one assembly call walks: assembly cannot be preempted, and the garbage collector
// waits for it. No run is longer.
const asmTokens = maxRun

// headScores computes all scores, if the dimension fills whole lanes. The runs lie inside keys.
func headScores(k simd, p, q, keys []float32, runs []run, stride int, scale float32) int {
	if k == simdNone || len(q) == 0 || len(q)&15 != 0 {
		return 0
	}
	done := 0
	for len(runs) > 0 {
		count, n := someRuns(runs)
		scoresNEON(&p[done:][:n][0], &q[0], &keys[0], &runs[0], count, stride, len(q), scale)
		runs, done = runs[count:], done+n
	}
	return done
}

// headValues adds all weighted values to the columns of acc that fill whole lanes, and returns their number. The runs lie
// inside values.
func headValues(k simd, acc, p, values []float32, runs []run, stride int) int {
	cols := len(acc) &^ 15
	if k == simdNone || cols == 0 {
		return 0
	}
	for len(runs) > 0 {
		count, n := someRuns(runs)
		valuesNEON(&acc[0], &p[:n][0], &values[0], &runs[0], count, stride, cols)
		runs, p = runs[count:], p[n:]
	}
	return cols
}

// headDelta runs one row of one value head on the columns that fill whole lanes. o may be nil.
func headDelta(w simd, state, from, k, q, v, o []float32, decay, beta float32) int {
	cols := len(v) &^ 15
	if w == simdNone || cols == 0 || len(k) == 0 {
		return 0
	}
	n := len(k) * len(v)
	a := deltaArgs{
		state: unsafe.Pointer(&state[:n][0]), from: unsafe.Pointer(&from[:n][0]), k: unsafe.Pointer(&k[0]), q: unsafe.Pointer(&q[:len(k)][0]),
		v: unsafe.Pointer(&v[0]), keys: len(k), stride: len(v), cols: cols, decay: decay, beta: beta,
	}
	if o != nil {
		a.o = unsafe.Pointer(&o[:len(v)][0])
	}
	deltaNEON(&a)
	return cols
}

//go:noescape
func squaresNEON(acc *[16]float32, x *float32, n int)

//go:noescape
func dotNEON(acc *[16]float32, a, b *float32, n int)

//go:noescape
func dotFusedNEON(acc *[16]float32, a, b *float32, n int)

//go:noescape
func maxNEON(acc *[16]float32, x *float32, n int)

//go:noescape
func scaleByNEON(y, x, w *float32, n int, inv float32)

//go:noescape
func mulNEON(y, x, w *float32, n int)

//go:noescape
func mulAddNEON(y, x, w *float32, n int)

//go:noescape
func conv4NEON(y, x0, x1, x2, x3, w *float32, taps, n int)

//go:noescape
func scoresNEON(p, q, keys *float32, runs *run, count, stride, dim int, scale float32)

//go:noescape
func valuesNEON(acc, p, values *float32, runs *run, count, stride, cols int)

//go:noescape
func deltaNEON(a *deltaArgs)

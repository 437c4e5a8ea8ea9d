package cpu

import "unsafe"

// headSquares sets acc to the lanes of the sum of squares of the first whole 16s of x.
func headSquares(k simd, acc *[16]float32, x []float32) int {
	n := len(x) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		squaresAVX512(acc, &x[0], n)
	} else {
		squaresAVX2(acc, &x[0], n)
	}
	return n
}

// headDot sets acc to the lanes of <a, b> over the first whole 16s.
func headDot(k simd, acc *[16]float32, a, b []float32) int {
	n := len(a) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		dotAVX512(acc, &a[0], &b[0], n)
	} else {
		dotAVX2(acc, &a[0], &b[0], n)
	}
	return n
}

// headDotFused is headDot with fused multiply-add.
func headDotFused(k simd, acc *[16]float32, a, b []float32) int {
	n := len(a) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		dotFusedAVX512(acc, &a[0], &b[0], n)
	} else {
		dotFusedAVX2(acc, &a[0], &b[0], n)
	}
	return n
}

// headScale sets y = (x * inv) * w.
func headScale(k simd, y, x, w []float32, inv float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		scaleByAVX512(&y[0], &x[0], &w[0], n, inv)
	} else {
		scaleByAVX2(&y[0], &x[0], &w[0], n, inv)
	}
	return n
}

// headMul sets y = x * w.
func headMul(k simd, y, x, w []float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		mulAVX512(&y[0], &x[0], &w[0], n)
	} else {
		mulAVX2(&y[0], &x[0], &w[0], n)
	}
	return n
}

// headMulAdd sets y = y + x*w.
func headMulAdd(k simd, y, x, w []float32) int {
	n := len(y) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		mulAddAVX512(&y[0], &x[0], &w[0], n)
	} else {
		mulAddAVX2(&y[0], &x[0], &w[0], n)
	}
	return n
}

// asmTokens bounds the keys or values one assembly call walks: assembly cannot be preempted, and the garbage collector
// waits for it. No run is longer.
const asmTokens = 2 * maxRun

// headScores computes all scores, if the dimension fills whole lanes. The runs lie inside keys.
func headScores(k simd, p, q, keys []float32, runs []run, stride int, scale float32) int {
	if k == simdNone || len(q) == 0 || len(q)&15 != 0 {
		return 0
	}
	done := 0
	for len(runs) > 0 {
		count, n := someRuns(runs)
		dst := p[done:][:n]
		if k == simdAVX512 {
			scoresAVX512(&dst[0], &q[0], &keys[0], &runs[0], count, stride, len(q), scale)
		} else {
			scoresAVX2(&dst[0], &q[0], &keys[0], &runs[0], count, stride, len(q), scale)
		}
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
		if k == simdAVX512 {
			valuesAVX512(&acc[0], &p[:n][0], &values[0], &runs[0], count, stride, cols)
		} else {
			valuesAVX2(&acc[0], &p[:n][0], &values[0], &runs[0], count, stride, cols)
		}
		runs, p = runs[count:], p[n:]
	}
	return cols
}

// headMax raises the lanes of acc to the largest of the first whole 16s of x; a NaN is passed over.
func headMax(k simd, acc *[16]float32, x []float32) int {
	n := len(x) &^ 15
	if n == 0 || k == simdNone {
		return 0
	}
	if k == simdAVX512 {
		maxAVX512(acc, &x[0], n)
	} else {
		maxAVX2(acc, &x[0], n)
	}
	return n
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
	if w == simdAVX512 {
		deltaAVX512(&a)
	} else {
		deltaAVX2(&a)
	}
	return cols
}

//go:noescape
func squaresAVX512(acc *[16]float32, x *float32, n int)

//go:noescape
func dotAVX512(acc *[16]float32, a, b *float32, n int)

//go:noescape
func dotFusedAVX512(acc *[16]float32, a, b *float32, n int)

//go:noescape
func maxAVX512(acc *[16]float32, x *float32, n int)

//go:noescape
func scaleByAVX512(y, x, w *float32, n int, inv float32)

//go:noescape
func mulAVX512(y, x, w *float32, n int)

//go:noescape
func mulAddAVX512(y, x, w *float32, n int)

//go:noescape
func scoresAVX512(p, q, keys *float32, runs *run, count, stride, dim int, scale float32)

//go:noescape
func valuesAVX512(acc, p, values *float32, runs *run, count, stride, cols int)

//go:noescape
func deltaAVX512(a *deltaArgs)

//go:noescape
func squaresAVX2(acc *[16]float32, x *float32, n int)

//go:noescape
func dotAVX2(acc *[16]float32, a, b *float32, n int)

//go:noescape
func dotFusedAVX2(acc *[16]float32, a, b *float32, n int)

//go:noescape
func maxAVX2(acc *[16]float32, x *float32, n int)

//go:noescape
func scaleByAVX2(y, x, w *float32, n int, inv float32)

//go:noescape
func mulAVX2(y, x, w *float32, n int)

//go:noescape
func mulAddAVX2(y, x, w *float32, n int)

//go:noescape
func scoresAVX2(p, q, keys *float32, runs *run, count, stride, dim int, scale float32)

//go:noescape
func valuesAVX2(acc, p, values *float32, runs *run, count, stride, cols int)

//go:noescape
func deltaAVX2(a *deltaArgs)

package cpu

import "unsafe"

// groupScores does the scores of four heads, which share the loads of the keys and the additions across lanes; p holds a
// row of total scores per head. It reports false if this set has no assembly for it.
func groupScores(k simd, p, q, keys []float32, runs []run, stride, dim, total int, scale float32) bool {
	if k != simdAVX512 || dim&15 != 0 || dim == 0 || total == 0 {
		return false
	}
	a := groupArgs{
		q: unsafe.Pointer(&q[:4*dim][0]), keys: unsafe.Pointer(&keys[0]), stride: stride * 4, dim: dim * 4, total: total * 4, scale: scale,
	}
	p = p[:4*total]
	for done := 0; len(runs) > 0; {
		count, n := someRuns(runs)
		a.p, a.runs, a.count = unsafe.Pointer(&p[done]), unsafe.Pointer(&runs[0]), count
		groupScoresAVX512(&a)
		runs, done = runs[count:], done+n
	}
	return true
}

// groupValues adds the weighted values of four heads, whose sums acc holds one after the other, 64 columns at a time, and sets z to the sums
// of their weights.
func groupValues(k simd, z *[4]float32, acc, p, values []float32, runs []run, stride, dim, total int) bool {
	if k != simdAVX512 || dim&63 != 0 || dim == 0 || total == 0 {
		return false
	}
	a := groupArgs{stride: stride * 4, dim: dim * 4, total: total * 4}
	acc, p = acc[:4*dim], p[:4*total]
	for col := 0; col < dim; col += 64 {
		*z = [4]float32{}
		a.z, a.q, a.keys = unsafe.Pointer(z), unsafe.Pointer(&acc[col]), unsafe.Pointer(&values[col])
		left := runs
		for done := 0; len(left) > 0; {
			count, n := someRuns(left)
			a.p, a.runs, a.count = unsafe.Pointer(&p[done]), unsafe.Pointer(&left[0]), count
			groupValuesAVX512(&a)
			left, done = left[count:], done+n
		}
	}
	return true
}

//go:noescape
func groupScoresAVX512(a *groupArgs)

//go:noescape
func groupValuesAVX512(a *groupArgs)

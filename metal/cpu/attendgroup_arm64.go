package cpu

import "unsafe"

// groupScores does the scores of four heads, two at a time, which share the loads of the keys and the additions across lanes; p
// holds a row of total scores per head. It reports false if this set has no assembly for it.
func groupScores(k simd, p, q, keys []float32, runs []run, stride, dim, total int, scale float32) bool {
	if k == simdNone || dim&15 != 0 || dim == 0 || total == 0 {
		return false
	}
	a := groupArgs{keys: unsafe.Pointer(&keys[0]), stride: stride * 4, dim: dim * 4, total: total * 4, scale: scale}
	p, q = p[:4*total], q[:4*dim]
	for h := 0; h < 4; h += 2 {
		a.q = unsafe.Pointer(&q[h*dim])
		left := runs
		for done := 0; len(left) > 0; {
			count, n := someRuns(left)
			a.p, a.runs, a.count = unsafe.Pointer(&p[h*total+done]), unsafe.Pointer(&left[0]), count
			groupScoresNEON(&a)
			left, done = left[count:], done+n
		}
	}
	return true
}

// groupValues adds the weighted values of four heads, whose sums acc holds one after the other, 16 columns at a time.
func groupValues(k simd, z *[4]float32, acc, p, values []float32, runs []run, stride, dim, total int) bool {
	if k == simdNone || dim&15 != 0 || dim == 0 || total == 0 {
		return false
	}
	a := groupArgs{stride: stride * 4, dim: dim * 4, total: total * 4}
	acc, p = acc[:4*dim], p[:4*total]
	for col := 0; col < dim; col += 16 {
		a.q, a.keys = unsafe.Pointer(&acc[col]), unsafe.Pointer(&values[col])
		left := runs
		for done := 0; len(left) > 0; {
			count, n := someRuns(left)
			a.p, a.runs, a.count = unsafe.Pointer(&p[done]), unsafe.Pointer(&left[0]), count
			groupValuesNEON(&a)
			left, done = left[count:], done+n
		}
	}
	*z = sums(p, total, 4)
	return true
}

//go:noescape
func groupScoresNEON(a *groupArgs)

//go:noescape
func groupValuesNEON(a *groupArgs)

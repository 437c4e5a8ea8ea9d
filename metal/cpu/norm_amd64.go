package cpu

import "unsafe"

// normArgs is the groups of a norm for assembly, which reads it by the names in go_asm.h. Steps are in bytes.
type normArgs struct {
	y, x, w             unsafe.Pointer
	yStep, xStep, wStep int
	groups              int // positive
	n                   int // values of a group, a positive multiple of 16
	count, eps          float32
}

// allNorms does all groups of norms, if this set has assembly for groups of n values.
func allNorms(k simd, y, x, w []float32, s normSteps, n, groups int, count, eps float32) bool {
	if k != simdAVX512 || n&15 != 0 || n == 0 || groups < 1 {
		return false
	}
	last := groups - 1
	y, x, w = y[:last*s.y+n], x[:last*s.x+n], w[:last*s.w+n]
	normAVX512(&normArgs{
		y: unsafe.Pointer(&y[0]), x: unsafe.Pointer(&x[0]), w: unsafe.Pointer(&w[0]), yStep: 4 * s.y, xStep: 4 * s.x, wStep: 4 * s.w,
		groups: groups, n: n, count: count, eps: eps,
	})
	return true
}

//go:noescape
func normAVX512(a *normArgs)

package cpu

import "unsafe"

// deltaRowsArgs is some rows of one value head for assembly, which reads it by the names in go_asm.h. Steps are bytes from row
// to row.
type deltaRowsArgs struct {
	state unsafe.Pointer // [keys, cols], written
	from  unsafe.Pointer // [keys, cols], read; may be state
	norms unsafe.Pointer // [rows, 2, keys]: q and k
	v, o  unsafe.Pointer // [rows, cols]
	beta  unsafe.Pointer // [rows]
	decay unsafe.Pointer // [rows]

	normsStep, vStep, oStep, betaStep, decayStep int
	rows, keys                                   int // positive
	stride                                       int // bytes from key to key: of the columns, a positive multiple of 32
}

// headDeltaRows runs all rows of v, if the set has assembly for so many columns.
func headDeltaRows(w simd, state, from, norms []float32, v, o, beta, decay mat) bool {
	keys := len(state) / v.cols
	if w != simdAVX512 || v.cols&31 != 0 || v.cols == 0 || keys == 0 || v.rows == 0 || o.rows == 0 {
		return false
	}
	deltaRowsAVX512(&deltaRowsArgs{
		state: unsafe.Pointer(&state[0]), from: unsafe.Pointer(&from[:len(state)][0]), norms: unsafe.Pointer(&norms[:2*keys*v.rows][0]),
		v: unsafe.Pointer(&v.f[0]), o: unsafe.Pointer(&o.f[0]), beta: unsafe.Pointer(&beta.f[0]), decay: unsafe.Pointer(&decay.f[0]),
		normsStep: 8 * keys, vStep: 4 * v.stride, oStep: 4 * o.stride, betaStep: 4 * beta.stride, decayStep: 4 * decay.stride,
		rows: v.rows, keys: keys, stride: 4 * v.cols,
	})
	return true
}

//go:noescape
func deltaRowsAVX512(a *deltaRowsArgs)

package cpu

import "unsafe"

// prepareFastVNNI is prepareFast, in assembly where the blocks fill whole registers.
func prepareFastVNNI(dst unsafe.Pointer, x []float32, group int, center int32) {
	if group%16 != 0 {
		prepareFast(dst, x, group, center)
		return
	}
	prepareFastAVX512(dst, unsafe.SliceData(x), len(x), group)
}

// prepareFastAVX512 writes k columns, a positive multiple of group, which is one of 16.
//
//go:noescape
func prepareFastAVX512(dst unsafe.Pointer, x *float32, k, group int)

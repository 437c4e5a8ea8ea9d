package cpu

import "unsafe"

// prepareVNNI is prepareBytes, in assembly where the blocks fill whole registers.
func prepareVNNI(dst unsafe.Pointer, x []float32, group int, center int32) {
	if group%16 != 0 {
		prepareBytes(dst, x, group, center)
		return
	}
	prepareAVX512(dst, unsafe.SliceData(x), len(x), group, int(center))
}

// prepareAVX512 writes k columns, a positive multiple of group, which is one of 16.
//
//go:noescape
func prepareAVX512(dst unsafe.Pointer, x *float32, k, group, center int)

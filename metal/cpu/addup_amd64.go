package cpu

import "unsafe"

// addUpArgs is one row of a sum and its way into the streams for assembly, which reads it by the names in go_asm.h.
type addUpArgs struct {
	y       unsafe.Pointer // [n]
	terms   unsafe.Pointer // the rows to add, ascending
	x       unsafe.Pointer // [streams, xStep bytes]
	gains   unsafe.Pointer // [streams]
	count   int            // of terms; 0: y is what is added to the streams
	streams int            // positive
	xStep   int
	n       int // positive multiple of 64
}

// headAddUp sets y to the sum of the terms, from 0, and adds gains[s]*y to stream s of x, which begins at x[s*step], for the columns that
// fill the registers of the set.
func headAddUp(k simd, y []float32, terms []term, x []float32, step int, gains []float32) int {
	n := len(y) &^ 63
	if k != simdAVX512 || n == 0 || len(gains) == 0 {
		return 0
	}
	x = x[:(len(gains)-1)*step+n]
	addUpAVX512(&addUpArgs{
		y: unsafe.Pointer(&y[0]), terms: unsafe.Pointer(unsafe.SliceData(terms)), x: unsafe.Pointer(&x[0]), gains: unsafe.Pointer(&gains[0]),
		count: len(terms), streams: len(gains), xStep: 4 * step, n: n,
	})
	return n
}

// headInject does the second half of headAddUp.
func headInject(k simd, y, x []float32, step int, gains []float32) int {
	return headAddUp(k, y, nil, x, step, gains)
}

//go:noescape
func addUpAVX512(a *addUpArgs)

package cpu

import "unsafe"

// addUpArgs is one row of a sum and its way into the streams for assembly, which reads it by the names in go_asm.h.
type addUpArgs struct {
	y       unsafe.Pointer // [n]
	terms   unsafe.Pointer // the rows to add, ascending
	x       unsafe.Pointer // [streams, xStep bytes]
	gains   unsafe.Pointer // [streams]
	count   int            // of terms, positive
	streams int            // positive
	xStep   int
	n       int // positive multiple of 64
}

// headAddUp sets y to the sum of the terms, from 0, and adds gains[s]*y to stream s of x, for the columns that fill the registers of the set.
func headAddUp(k simd, y []float32, terms []term, x, gains []float32) int {
	n := len(y) &^ 63
	if k != simdAVX512 || n == 0 || len(terms) == 0 || len(gains) == 0 {
		return 0
	}
	x = x[:len(gains)*len(y)]
	addUpAVX512(&addUpArgs{
		y: unsafe.Pointer(&y[0]), terms: unsafe.Pointer(&terms[0]), x: unsafe.Pointer(&x[0]), gains: unsafe.Pointer(&gains[0]),
		count: len(terms), streams: len(gains), xStep: 4 * len(y), n: n,
	})
	return n
}

//go:noescape
func addUpAVX512(a *addUpArgs)

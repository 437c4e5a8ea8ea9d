package cpu

import "unsafe"

func toFastDotProd(s *kernelSet) {
	fastDotProd(s)
	s.prepare = prepareFastArm
}

// toFastNEON is for machines without the dot product.
func toFastNEON(s *kernelSet) {
	fastNEON(s)
	s.prepare = prepareFastArm
}

// prepareFastArm is prepareFast in assembly.
func prepareFastArm(dst unsafe.Pointer, x []float32, group int, _ int32) {
	prepareFastNEON(dst, unsafe.SliceData(x), len(x), group)
}

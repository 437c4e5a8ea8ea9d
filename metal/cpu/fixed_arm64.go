package cpu

import "unsafe"

// The kernels read center and radix as one value.
var _ [0]struct{} = [unsafe.Offsetof(kernelArgs{}.radix) - unsafe.Offsetof(kernelArgs{}.center) - 4]struct{}{}

// prepareDot is prepareBytes in assembly.
func prepareDot(dst unsafe.Pointer, x []float32, group int, center int32) {
	prepareDotProd(dst, unsafe.SliceData(x), len(x), group, int(center))
}

// prepareWide is prepareWords in assembly.
func prepareWide(dst unsafe.Pointer, x []float32, group int, center int32) {
	prepareNEON(dst, unsafe.SliceData(x), len(x), group, int(center))
}

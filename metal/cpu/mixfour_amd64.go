package cpu

import "unsafe"

// mixArgs is one row of MixStreams with four streams for assembly, which reads it by the names in go_asm.h.
type mixArgs struct {
	u     unsafe.Pointer // [n]
	m     unsafe.Pointer // gates of stream 0
	z     unsafe.Pointer // normed values of stream 0
	mStep int            // bytes from stream to stream
	zStep int
	n     int // positive multiple of 16
	scale float32
}

// headMix does MixStreams of four streams for the columns that fill whole lanes; stream s begins at m[s*mStep] and z[s*zStep].
func headMix(k simd, u, m, z []float32, mStep, zStep int, scale float32) int {
	n := len(u) &^ 15
	if k != simdAVX512 || n == 0 {
		return 0
	}
	m, z = m[:3*mStep+n], z[:3*zStep+n]
	mixAVX512(&mixArgs{
		u: unsafe.Pointer(&u[0]), m: unsafe.Pointer(&m[0]), z: unsafe.Pointer(&z[0]), mStep: 4 * mStep, zStep: 4 * zStep, n: n, scale: scale,
	})
	return n
}

//go:noescape
func mixAVX512(a *mixArgs)

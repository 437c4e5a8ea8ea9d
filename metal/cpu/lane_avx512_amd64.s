#include "textflag.h"

// Kernels over the 16 lanes of package cpu's lane rule and elementwise loops beside them. n is a positive multiple of 16.
// No kernel fuses except laneDotFused.

// func squaresAVX512(acc *[16]float32, x *float32, n int)
// acc[l] = sum of x[i]^2 over i mod 16 = l.
TEXT ·squaresAVX512(SB), NOSPLIT, $0-24
	MOVQ acc+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	VPXORD Z0, Z0, Z0

squares:
	VMOVUPS (SI)(AX*4), Z1
	VMULPS Z1, Z1, Z1
	VADDPS Z1, Z0, Z0
	ADDQ $16, AX
	CMPQ AX, CX
	JLT squares
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func dotAVX512(acc *[16]float32, a, b *float32, n int)
// acc[l] = sum of a[i]*b[i] over i mod 16 = l.
TEXT ·dotAVX512(SB), NOSPLIT, $0-32
	MOVQ acc+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX
	VPXORD Z0, Z0, Z0

dot:
	VMOVUPS (SI)(AX*4), Z1
	VMULPS (DX)(AX*4), Z1, Z1
	VADDPS Z1, Z0, Z0
	ADDQ $16, AX
	CMPQ AX, CX
	JLT dot
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func dotFusedAVX512(acc *[16]float32, a, b *float32, n int)
// acc[l] = fma(a[i], b[i], acc[l]) over i mod 16 = l, from 0.
TEXT ·dotFusedAVX512(SB), NOSPLIT, $0-32
	MOVQ acc+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX
	VPXORD Z0, Z0, Z0

fused:
	VMOVUPS (SI)(AX*4), Z1
	VFMADD231PS (DX)(AX*4), Z1, Z0
	ADDQ $16, AX
	CMPQ AX, CX
	JLT fused
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func scaleByAVX512(y, x, w *float32, n int, inv float32)
// y = (x * inv) * w
TEXT ·scaleByAVX512(SB), NOSPLIT, $0-36
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS inv+32(FP), Z0
	XORQ AX, AX

scale:
	VMULPS (SI)(AX*4), Z0, Z1
	VMULPS (DX)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT scale
	VZEROUPPER
	RET

// func mulAVX512(y, x, w *float32, n int)
// y = x * w
TEXT ·mulAVX512(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

mul:
	VMOVUPS (SI)(AX*4), Z1
	VMULPS (DX)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT mul
	VZEROUPPER
	RET

// func mulAddAVX512(y, x, w *float32, n int)
// y = y + x*w, the product rounded first
TEXT ·mulAddAVX512(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

muladd:
	VMOVUPS (SI)(AX*4), Z1
	VMULPS (DX)(AX*4), Z1, Z1
	VADDPS (DI)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT muladd
	VZEROUPPER
	RET

// func maxAVX512(acc *[16]float32, x *float32, n int)
// acc[l] = max(acc[l], x[i]) over i mod 16 = l. VMAXPS gives its second source, here acc, where the first is NaN.
TEXT ·maxAVX512(SB), NOSPLIT, $0-24
	MOVQ acc+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	VMOVUPS (DI), Z0

max:
	VMOVUPS (SI)(AX*4), Z1
	VMAXPS Z0, Z1, Z0
	ADDQ $16, AX
	CMPQ AX, CX
	JLT max
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

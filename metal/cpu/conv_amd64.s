#include "textflag.h"

// func conv4AVX512(y, x0, x1, x2, x3, w *float32, taps, n int)
// y = ((w0*x0 + w1*x1) + w2*x2) + w3*x3, every product and sum rounded; tap j's weights are taps bytes after tap j-1's; n is a
// positive multiple of 16.
TEXT ·conv4AVX512(SB), NOSPLIT, $0-64
	MOVQ y+0(FP), DI
	MOVQ x0+8(FP), R8
	MOVQ x1+16(FP), R9
	MOVQ x2+24(FP), R10
	MOVQ x3+32(FP), R11
	MOVQ w+40(FP), SI
	MOVQ taps+48(FP), DX
	MOVQ n+56(FP), CX
	LEAQ (DX)(DX*2), R12
	XORQ AX, AX

loop:
	VMOVUPS (SI), Z0
	VMOVUPS (SI)(DX*1), Z1
	VMOVUPS (SI)(DX*2), Z2
	VMOVUPS (SI)(R12*1), Z3
	VMULPS (R8)(AX*4), Z0, Z0
	VMULPS (R9)(AX*4), Z1, Z1
	VMULPS (R10)(AX*4), Z2, Z2
	VMULPS (R11)(AX*4), Z3, Z3
	VADDPS Z1, Z0, Z0
	VADDPS Z2, Z0, Z0
	VADDPS Z3, Z0, Z0
	VMOVUPS Z0, (DI)(AX*4)
	ADDQ $64, SI
	ADDQ $16, AX
	CMPQ AX, CX
	JLT loop
	VZEROUPPER
	RET

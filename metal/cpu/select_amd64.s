#include "textflag.h"

// func addPositiveAVX512(sum, x *float32, n int)
// sum = sum + max(x, 0), 0 for a NaN, which VMAXPS gives as its second source; n is a positive multiple of 16.
TEXT ·addPositiveAVX512(SB), NOSPLIT, $0-24
	MOVQ sum+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	VPXORD Z0, Z0, Z0

positive:
	VMOVUPS (SI)(AX*4), Z1
	VMAXPS Z0, Z1, Z1
	VADDPS (DI)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT positive
	VZEROUPPER
	RET

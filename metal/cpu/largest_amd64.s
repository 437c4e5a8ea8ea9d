#include "textflag.h"

// func largestAVX512(x *float32, n int) float32
// The largest of n values, a positive multiple of 16; a NaN is passed over: VMAXPS gives its second source, here what it was, where the first is one.
TEXT ·largestAVX512(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL $0xff800000, AX
	VPBROADCASTD AX, Z0
	XORQ AX, AX

largest:
	VMOVUPS (SI)(AX*4), Z1
	VMAXPS Z0, Z1, Z0
	ADDQ $16, AX
	CMPQ AX, CX
	JLT largest
	VEXTRACTF64X4 $1, Z0, Y1
	VMAXPS Y1, Y0, Y0
	VEXTRACTF32X4 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

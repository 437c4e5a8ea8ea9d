//go:build !purego

#include "textflag.h"

// Y15: all bits but the sign; Y14: one in the exponent; Y12, Y13: OR of (bits without sign) + Y14.
#define LOOK(x, t, acc) \
	VPAND  Y15, x, t   \
	VPADDD Y14, t, t   \
	VPOR   t, acc, acc

// func scanAVX2(maxima, row *float32, blocks int) uint32
TEXT ·scanAVX2(SB), NOSPLIT, $0-28
	MOVQ maxima+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ blocks+16(FP), CX
	VPCMPEQD Y15, Y15, Y15
	VPSRLD   $31, Y15, Y14
	VPSLLD   $23, Y14, Y14
	VPSRLD   $1, Y15, Y15
	VPXOR    Y13, Y13, Y13
	VPXOR    Y12, Y12, Y12

loop:
	TESTQ CX, CX
	JLE   done
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VMOVUPS 128(SI), Y4
	VMOVUPS 160(SI), Y5
	VMOVUPS 192(SI), Y6
	VMOVUPS 224(SI), Y7
	LOOK(Y0, Y8, Y12)
	LOOK(Y1, Y9, Y13)
	LOOK(Y2, Y10, Y12)
	LOOK(Y3, Y11, Y13)
	LOOK(Y4, Y8, Y12)
	LOOK(Y5, Y9, Y13)
	LOOK(Y6, Y10, Y12)
	LOOK(Y7, Y11, Y13)
	VMAXPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	VMAXPS Y5, Y4, Y4
	VMAXPS Y7, Y6, Y6
	VMAXPS Y2, Y0, Y0
	VMAXPS Y6, Y4, Y4
	VMAXPS Y4, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS  X1, X0, X0
	VPSHUFD $0x4e, X0, X1
	VMAXPS  X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VMAXPS  X1, X0, X0
	VMOVSS  X0, (DI)
	ADDQ $256, SI
	ADDQ $4, DI
	DECQ CX
	JMP  loop

done:
	VPOR Y13, Y12, Y12
	VEXTRACTI128 $1, Y12, X0
	VPOR    X0, X12, X0
	VPSHUFD $0x4e, X0, X1
	VPOR    X1, X0, X0
	VPSHUFD $0xb1, X0, X1
	VPOR    X1, X0, X0
	VMOVD   X0, AX
	MOVL    AX, ret+24(FP)
	VZEROUPPER
	RET

#include "go_asm.h"
#include "textflag.h"

// func normAVX512(a *normArgs)
// Per group y = (x * inv) * w with inv = 1/sqrt(sum x^2 / count + eps), the sum by the lane rule. SI x, DI y, DX w, R8 R9 R10 their
// bytes from group to group, CX groups left, R11 values of a group, AX the value; X30 count, X29 eps, X28 one.
TEXT ·normAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	MOVQ normArgs_x(BX), SI
	MOVQ normArgs_y(BX), DI
	MOVQ normArgs_w(BX), DX
	MOVQ normArgs_xStep(BX), R8
	MOVQ normArgs_yStep(BX), R9
	MOVQ normArgs_wStep(BX), R10
	MOVQ normArgs_groups(BX), CX
	MOVQ normArgs_n(BX), R11
	VMOVSS normArgs_count(BX), X30
	VMOVSS normArgs_eps(BX), X29
	MOVL $0x3f800000, AX
	VMOVD AX, X28

group:
	XORL AX, AX
	VPXORD Z0, Z0, Z0

squares:
	VMOVUPS (SI)(AX*4), Z1
	VMULPS Z1, Z1, Z1
	VADDPS Z1, Z0, Z0
	ADDQ $16, AX
	CMPQ AX, R11
	JLT squares

	// Lanes l and l+8, l and l+4, l and l+2, l and l+1.
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS Y1, Y0, Y0
	VEXTRACTF32X4 $1, Y0, X1
	VADDPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VADDPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VADDPS X1, X0, X0
	VDIVSS X30, X0, X0
	VADDSS X29, X0, X0
	VSQRTSS X0, X0, X0
	VDIVSS X0, X28, X0
	VBROADCASTSS X0, Z0
	XORL AX, AX

scale:
	VMULPS (SI)(AX*4), Z0, Z1
	VMULPS (DX)(AX*4), Z1, Z1
	VMOVUPS Z1, (DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, R11
	JLT scale
	ADDQ R8, SI
	ADDQ R9, DI
	ADDQ R10, DX
	DECQ CX
	JNZ group
	VZEROUPPER
	RET

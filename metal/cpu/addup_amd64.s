#include "go_asm.h"
#include "textflag.h"

// func addUpAVX512(a *addUpArgs)
// 64 columns at a time. DI y, SI terms, DX x, R8 gains, R9 bytes from stream to stream, R10 columns, R11 place, CX what is left of terms or
// streams, AX the term or the gain, R12 its row; Z0..Z3 the sum.
TEXT ·addUpAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	MOVQ addUpArgs_y(BX), DI
	MOVQ addUpArgs_terms(BX), SI
	MOVQ addUpArgs_x(BX), DX
	MOVQ addUpArgs_gains(BX), R8
	MOVQ addUpArgs_xStep(BX), R9
	MOVQ addUpArgs_n(BX), R10
	XORQ R11, R11

columns:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	MOVQ SI, AX
	MOVQ addUpArgs_count(BX), CX
	TESTQ CX, CX
	JEQ given

terms:
	MOVQ term_x(AX), R12
	VBROADCASTSS term_scale(AX), Z8
	VMULPS (R12)(R11*4), Z8, Z4
	VMULPS 64(R12)(R11*4), Z8, Z5
	VMULPS 128(R12)(R11*4), Z8, Z6
	VMULPS 192(R12)(R11*4), Z8, Z7
	VADDPS Z4, Z0, Z0
	VADDPS Z5, Z1, Z1
	VADDPS Z6, Z2, Z2
	VADDPS Z7, Z3, Z3
	ADDQ $term__size, AX
	DECQ CX
	JNZ terms
	VMOVUPS Z0, (DI)(R11*4)
	VMOVUPS Z1, 64(DI)(R11*4)
	VMOVUPS Z2, 128(DI)(R11*4)
	VMOVUPS Z3, 192(DI)(R11*4)

spread:
	MOVQ R8, AX
	MOVQ DX, R12
	MOVQ addUpArgs_streams(BX), CX

streams:
	VBROADCASTSS (AX), Z8
	VMULPS Z0, Z8, Z4
	VMULPS Z1, Z8, Z5
	VMULPS Z2, Z8, Z6
	VMULPS Z3, Z8, Z7
	VADDPS (R12)(R11*4), Z4, Z4
	VADDPS 64(R12)(R11*4), Z5, Z5
	VADDPS 128(R12)(R11*4), Z6, Z6
	VADDPS 192(R12)(R11*4), Z7, Z7
	VMOVUPS Z4, (R12)(R11*4)
	VMOVUPS Z5, 64(R12)(R11*4)
	VMOVUPS Z6, 128(R12)(R11*4)
	VMOVUPS Z7, 192(R12)(R11*4)
	ADDQ $4, AX
	ADDQ R9, R12
	DECQ CX
	JNZ streams
	ADDQ $64, R11
	CMPQ R11, R10
	JLT columns
	VZEROUPPER
	RET

given:
	VMOVUPS (DI)(R11*4), Z0
	VMOVUPS 64(DI)(R11*4), Z1
	VMOVUPS 128(DI)(R11*4), Z2
	VMOVUPS 192(DI)(R11*4), Z3
	JMP spread

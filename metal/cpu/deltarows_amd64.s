#include "go_asm.h"
#include "textflag.h"

// func deltaRowsAVX512(a *deltaRowsArgs)
// Rows of one value head (delta.go), 32 columns at a time. One walk over the keys ends a row and begins the next: the state is loaded once,
// takes the row's update, gives the row's output, decays for the next row, gives what that row predicts, and is stored.
// BX arguments, DI state, SI v, DX o, R8 beta, R9 decay, R10 keys' norms of the row, R11 rows left, R12 walks the state, R13 bytes from key to key,
// R14 end of the keys, CX the key's place; Z0 Z1 the output, Z2 Z3 what is predicted, Z4 Z5 the update d, Z6 the next decay.
TEXT ·deltaRowsAVX512(SB), NOSPLIT, $8-8
	MOVQ a+0(FP), BX
	MOVQ deltaRowsArgs_stride(BX), R13
	MOVQ $0, col-8(SP)

block:
	MOVQ col-8(SP), CX
	MOVQ deltaRowsArgs_state(BX), DI
	MOVQ deltaRowsArgs_v(BX), SI
	MOVQ deltaRowsArgs_o(BX), DX
	MOVQ deltaRowsArgs_from(BX), AX
	ADDQ CX, DI
	ADDQ CX, SI
	ADDQ CX, DX
	ADDQ CX, AX
	MOVQ deltaRowsArgs_beta(BX), R8
	MOVQ deltaRowsArgs_decay(BX), R9
	MOVQ deltaRowsArgs_norms(BX), R10
	MOVQ deltaRowsArgs_rows(BX), R11
	MOVQ deltaRowsArgs_keys(BX), R14
	SHLQ $2, R14

	// The first row's decay and prediction.
	VBROADCASTSS (R9), Z6
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	MOVQ DI, R12
	LEAQ (R10)(R14*1), R15
	XORQ CX, CX

first:
	VBROADCASTSS (R15)(CX*1), Z8
	VMULPS (AX), Z6, Z10
	VMULPS 64(AX), Z6, Z11
	VMOVUPS Z10, (R12)
	VMOVUPS Z11, 64(R12)
	VMULPS Z8, Z10, Z10
	VMULPS Z8, Z11, Z11
	VADDPS Z10, Z2, Z2
	VADDPS Z11, Z3, Z3
	ADDQ R13, AX
	ADDQ R13, R12
	ADDQ $4, CX
	CMPQ CX, R14
	JLT first

row:
	VBROADCASTSS (R8), Z7
	VMOVUPS (SI), Z4
	VMOVUPS 64(SI), Z5
	VSUBPS Z2, Z4, Z4
	VSUBPS Z3, Z5, Z5
	VMULPS Z7, Z4, Z4
	VMULPS Z7, Z5, Z5
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	MOVQ DI, R12
	LEAQ (R10)(R14*1), R15 // the row's k, after its q
	XORQ CX, CX
	DECQ R11
	JEQ last
	ADDQ deltaRowsArgs_decayStep(BX), R9
	VBROADCASTSS (R9), Z6
	MOVQ deltaRowsArgs_normsStep(BX), AX
	ADDQ R15, AX // the next row's k
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3

key:
	VBROADCASTSS (R15)(CX*1), Z8
	VBROADCASTSS (R10)(CX*1), Z9
	VBROADCASTSS (AX)(CX*1), Z14
	VMULPS Z8, Z4, Z10
	VMULPS Z8, Z5, Z11
	VADDPS (R12), Z10, Z10
	VADDPS 64(R12), Z11, Z11
	VMULPS Z6, Z10, Z12
	VMULPS Z6, Z11, Z13
	VMULPS Z9, Z10, Z10
	VMULPS Z9, Z11, Z11
	VMOVUPS Z12, (R12)
	VMOVUPS Z13, 64(R12)
	VMULPS Z14, Z12, Z12
	VMULPS Z14, Z13, Z13
	VADDPS Z10, Z0, Z0
	VADDPS Z11, Z1, Z1
	VADDPS Z12, Z2, Z2
	VADDPS Z13, Z3, Z3
	ADDQ R13, R12
	ADDQ $4, CX
	CMPQ CX, R14
	JLT key
	VMOVUPS Z0, (DX)
	VMOVUPS Z1, 64(DX)
	ADDQ deltaRowsArgs_vStep(BX), SI
	ADDQ deltaRowsArgs_oStep(BX), DX
	ADDQ deltaRowsArgs_betaStep(BX), R8
	ADDQ deltaRowsArgs_normsStep(BX), R10
	JMP row

last:
	VBROADCASTSS (R15)(CX*1), Z8
	VBROADCASTSS (R10)(CX*1), Z9
	VMULPS Z8, Z4, Z10
	VMULPS Z8, Z5, Z11
	VADDPS (R12), Z10, Z10
	VADDPS 64(R12), Z11, Z11
	VMOVUPS Z10, (R12)
	VMOVUPS Z11, 64(R12)
	VMULPS Z9, Z10, Z10
	VMULPS Z9, Z11, Z11
	VADDPS Z10, Z0, Z0
	VADDPS Z11, Z1, Z1
	ADDQ R13, R12
	ADDQ $4, CX
	CMPQ CX, R14
	JLT last
	VMOVUPS Z0, (DX)
	VMOVUPS Z1, 64(DX)

	MOVQ col-8(SP), CX
	ADDQ $128, CX
	MOVQ CX, col-8(SP)
	CMPQ CX, R13
	JLT block
	VZEROUPPER
	RET

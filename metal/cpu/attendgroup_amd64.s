#include "textflag.h"
#include "go_asm.h"

// byHead is the order that turns four tokens of four heads each into four heads of four tokens each.
DATA byHead<>+0(SB)/8, $0x0000000400000000
DATA byHead<>+8(SB)/8, $0x0000000c00000008
DATA byHead<>+16(SB)/8, $0x0000000500000001
DATA byHead<>+24(SB)/8, $0x0000000d00000009
DATA byHead<>+32(SB)/8, $0x0000000600000002
DATA byHead<>+40(SB)/8, $0x0000000e0000000a
DATA byHead<>+48(SB)/8, $0x0000000700000003
DATA byHead<>+56(SB)/8, $0x0000000f0000000b
GLOBL byHead<>(SB), RODATA|NOPTR, $64

// HALF adds lanes l and l+8 of two vectors: A's come out in the low half of A, B's in the high one. K2 is the high half.
#define HALF(A, B, T, U) \
	VBLENDMPD B, A, K2, T; \
	VSHUFF64X2 $0x4e, B, A, U; \
	VADDPS U, T, A

// QUARTER adds lanes l and l+8, then l and l+4, of four vectors, whose sums are the quarters of A.
#define QUARTER(A, B, C, D, T, U) \
	HALF(A, B, T, U); \
	HALF(C, D, T, U); \
	VSHUFF64X2 $0x88, C, A, T; \
	VSHUFF64X2 $0xdd, C, A, U; \
	VADDPS U, T, A

// func groupScoresAVX512(a *groupArgs)
// Scores of four heads, four tokens at a time. SI keys, R8 bytes from token to token, DI runs, CX runs left, DX p, R9 bytes
// from head to head of p, BX q, R11 bytes from head to head of q, R12 three times that, R13 R14 R15 AX the four tokens, R10
// the place in q.
TEXT ·groupScoresAVX512(SB), NOSPLIT, $24-8
	MOVQ a+0(FP), BX
	MOVQ groupArgs_keys(BX), SI
	MOVQ groupArgs_stride(BX), R8
	MOVQ groupArgs_runs(BX), DI
	MOVQ groupArgs_count(BX), CX
	MOVQ groupArgs_p(BX), DX
	MOVQ groupArgs_total(BX), R9
	VBROADCASTSS groupArgs_scale(BX), Z30
	VMOVDQU32 byHead<>(SB), Z31
	MOVL $0xf0, AX
	KMOVW AX, K2
	MOVQ groupArgs_dim(BX), R11
	MOVQ groupArgs_q(BX), BX
	LEAQ (R11)(R11*2), R12
	LEAQ (BX)(R11*1), AX
	MOVQ AX, end-8(SP)

run:
	MOVQ (DI), R13
	IMULQ R8, R13
	ADDQ SI, R13
	MOVQ 8(DI), AX
	ADDQ $16, DI
	MOVQ AX, left-16(SP)

four:
	MOVL $15, AX
	KMOVW AX, K1
	MOVQ left-16(SP), AX
	LEAQ (R13)(R8*1), R14
	LEAQ (R13)(R8*2), R15
	CMPQ AX, $4
	JGE whole

	// Fewer than four are left: the last one stands in for those that are missing, and only the real ones are stored.
	MOVQ CX, R10
	MOVQ AX, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	CMPQ CX, $2
	CMOVQLT R13, R14
	CMPQ CX, $3
	CMOVQLT R14, R15
	MOVQ R10, CX
	MOVQ R15, AX
	JMP begin

whole:
	LEAQ (R15)(R8*1), AX

begin:
	MOVQ R13, next-24(SP)
	MOVQ BX, R10
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	VPXORD Z12, Z12, Z12
	VPXORD Z13, Z13, Z13
	VPXORD Z14, Z14, Z14
	VPXORD Z15, Z15, Z15

columns:
	VMOVUPS (R13), Z16
	VMOVUPS (R14), Z17
	VMOVUPS (R15), Z18
	VMOVUPS (AX), Z19
	VMOVUPS (R10), Z20
	VMOVUPS (R10)(R11*1), Z21
	VMOVUPS (R10)(R11*2), Z22
	VMOVUPS (R10)(R12*1), Z23
	VFMADD231PS Z16, Z20, Z0
	VFMADD231PS Z17, Z20, Z1
	VFMADD231PS Z18, Z20, Z2
	VFMADD231PS Z19, Z20, Z3
	VFMADD231PS Z16, Z21, Z4
	VFMADD231PS Z17, Z21, Z5
	VFMADD231PS Z18, Z21, Z6
	VFMADD231PS Z19, Z21, Z7
	VFMADD231PS Z16, Z22, Z8
	VFMADD231PS Z17, Z22, Z9
	VFMADD231PS Z18, Z22, Z10
	VFMADD231PS Z19, Z22, Z11
	VFMADD231PS Z16, Z23, Z12
	VFMADD231PS Z17, Z23, Z13
	VFMADD231PS Z18, Z23, Z14
	VFMADD231PS Z19, Z23, Z15
	ADDQ $64, R13
	ADDQ $64, R14
	ADDQ $64, R15
	ADDQ $64, AX
	ADDQ $64, R10
	CMPQ R10, end-8(SP)
	JLT columns

	// By the lane rule: l and l+8, l and l+4, l and l+2 of two heads, l and l+1 of all four.
	QUARTER(Z0, Z1, Z2, Z3, Z16, Z20)
	QUARTER(Z4, Z5, Z6, Z7, Z17, Z21)
	QUARTER(Z8, Z9, Z10, Z11, Z18, Z22)
	QUARTER(Z12, Z13, Z14, Z15, Z19, Z23)
	VUNPCKLPD Z4, Z0, Z16
	VUNPCKHPD Z4, Z0, Z17
	VUNPCKLPD Z12, Z8, Z18
	VUNPCKHPD Z12, Z8, Z19
	VADDPS Z17, Z16, Z16
	VADDPS Z19, Z18, Z18
	VSHUFPS $0x88, Z18, Z16, Z17
	VSHUFPS $0xdd, Z18, Z16, Z19
	VADDPS Z19, Z17, Z17
	VPERMPS Z17, Z31, Z17
	VMULPS Z30, Z17, Z17
	LEAQ (R9)(R9*2), R10
	VMOVUPS X17, K1, (DX)
	VEXTRACTF32X4 $1, Z17, K1, (DX)(R9*1)
	VEXTRACTF32X4 $2, Z17, K1, (DX)(R9*2)
	VEXTRACTF32X4 $3, Z17, K1, (DX)(R10*1)

	MOVQ next-24(SP), R13
	MOVQ left-16(SP), AX
	SUBQ $4, AX
	MOVQ AX, left-16(SP)
	JLE short
	LEAQ (R13)(R8*4), R13
	ADDQ $16, DX
	JMP four

short:
	// p moves on by the tokens that were there: 4 + what is left, which is not positive.
	LEAQ 16(DX)(AX*4), DX
	DECQ CX
	JNZ run
	VZEROUPPER
	RET

#define VALUE(P, A, B, C, D) \
	VMULPS Z16, P, Z24; \
	VMULPS Z17, P, Z25; \
	VMULPS Z18, P, Z26; \
	VMULPS Z19, P, Z27; \
	VADDPS Z24, A, A; \
	VADDPS Z25, B, B; \
	VADDPS Z26, C, C; \
	VADDPS Z27, D, D

// func groupValuesAVX512(a *groupArgs)
// Adds the weighted values of four heads, 64 columns, to q, and the weights to z in passing: added up alone, each would wait for the one before it.
// Registers as above, where they are used.
TEXT ·groupValuesAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	MOVQ groupArgs_keys(BX), SI
	MOVQ groupArgs_stride(BX), R8
	MOVQ groupArgs_runs(BX), DI
	MOVQ groupArgs_count(BX), CX
	MOVQ groupArgs_p(BX), DX
	MOVQ groupArgs_total(BX), R9
	LEAQ (R9)(R9*2), R12
	MOVQ groupArgs_dim(BX), R11
	MOVQ groupArgs_q(BX), BX
	LEAQ (BX)(R11*1), R14
	LEAQ (BX)(R11*2), R15
	LEAQ (R14)(R11*2), R10
	VMOVUPS (BX), Z0
	VMOVUPS 64(BX), Z1
	VMOVUPS 128(BX), Z2
	VMOVUPS 192(BX), Z3
	VMOVUPS (R14), Z4
	VMOVUPS 64(R14), Z5
	VMOVUPS 128(R14), Z6
	VMOVUPS 192(R14), Z7
	VMOVUPS (R15), Z8
	VMOVUPS 64(R15), Z9
	VMOVUPS 128(R15), Z10
	VMOVUPS 192(R15), Z11
	VMOVUPS (R10), Z12
	VMOVUPS 64(R10), Z13
	VMOVUPS 128(R10), Z14
	VMOVUPS 192(R10), Z15
	MOVQ a+0(FP), AX
	MOVQ groupArgs_z(AX), AX
	VMOVSS (AX), X28
	VMOVSS 4(AX), X29
	VMOVSS 8(AX), X30
	VMOVSS 12(AX), X31

vrun:
	MOVQ (DI), R13
	IMULQ R8, R13
	ADDQ SI, R13
	MOVQ 8(DI), AX
	ADDQ $16, DI

token:
	VMOVUPS (R13), Z16
	VMOVUPS 64(R13), Z17
	VMOVUPS 128(R13), Z18
	VMOVUPS 192(R13), Z19
	VBROADCASTSS (DX), Z20
	VBROADCASTSS (DX)(R9*1), Z21
	VBROADCASTSS (DX)(R9*2), Z22
	VBROADCASTSS (DX)(R12*1), Z23
	VADDSS X20, X28, X28
	VADDSS X21, X29, X29
	VADDSS X22, X30, X30
	VADDSS X23, X31, X31
	VALUE(Z20, Z0, Z1, Z2, Z3)
	VALUE(Z21, Z4, Z5, Z6, Z7)
	VALUE(Z22, Z8, Z9, Z10, Z11)
	VALUE(Z23, Z12, Z13, Z14, Z15)
	ADDQ R8, R13
	ADDQ $4, DX
	DECQ AX
	JNZ token
	DECQ CX
	JNZ vrun
	MOVQ a+0(FP), AX
	MOVQ groupArgs_z(AX), AX
	VMOVSS X28, (AX)
	VMOVSS X29, 4(AX)
	VMOVSS X30, 8(AX)
	VMOVSS X31, 12(AX)
	VMOVUPS Z0, (BX)
	VMOVUPS Z1, 64(BX)
	VMOVUPS Z2, 128(BX)
	VMOVUPS Z3, 192(BX)
	VMOVUPS Z4, (R14)
	VMOVUPS Z5, 64(R14)
	VMOVUPS Z6, 128(R14)
	VMOVUPS Z7, 192(R14)
	VMOVUPS Z8, (R15)
	VMOVUPS Z9, 64(R15)
	VMOVUPS Z10, 128(R15)
	VMOVUPS Z11, 192(R15)
	VMOVUPS Z12, (R10)
	VMOVUPS Z13, 64(R10)
	VMOVUPS Z14, 128(R10)
	VMOVUPS Z15, 192(R10)
	VZEROUPPER
	RET

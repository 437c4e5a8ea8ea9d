#include "go_asm.h"
#include "textflag.h"

// LANES4 adds lanes l and l+8 (LO and HI hold 0..7 and 8..15), then l and l+4, into the four lanes of X, the low half of LO.
#define LANES4(LO, HI, X) \
	VADDPS HI, LO, LO; \
	VEXTRACTF128 $1, LO, X9; \
	VADDPS X9, X, X

// func scoresAVX2(p, q, keys *float32, runs *run, count, stride, dim int, scale float32)
// The twin of scoresAVX512.
TEXT ·scoresAVX2(SB), NOSPLIT, $0-60
	MOVQ p+0(FP), DI
	MOVQ q+8(FP), SI
	MOVQ runs+24(FP), R13
	MOVQ stride+40(FP), R9
	MOVQ dim+48(FP), DX
	VBROADCASTSS scale+56(FP), X15
	SHLQ $2, R9

next:
	MOVQ run_from(R13), R8
	IMULQ R9, R8
	ADDQ keys+16(FP), R8
	MOVQ run_n(R13), CX
	ADDQ $run__size, R13

four:
	CMPQ CX, $4
	JLT one
	LEAQ (R8)(R9*1), R10
	LEAQ (R8)(R9*2), R11
	LEAQ (R10)(R9*2), R12
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	XORQ AX, AX

fourdim:
	VMOVUPS (SI)(AX*4), Y8
	VMOVUPS 32(SI)(AX*4), Y9
	VFMADD231PS (R8)(AX*4), Y8, Y0
	VFMADD231PS 32(R8)(AX*4), Y9, Y4
	VFMADD231PS (R10)(AX*4), Y8, Y1
	VFMADD231PS 32(R10)(AX*4), Y9, Y5
	VFMADD231PS (R11)(AX*4), Y8, Y2
	VFMADD231PS 32(R11)(AX*4), Y9, Y6
	VFMADD231PS (R12)(AX*4), Y8, Y3
	VFMADD231PS 32(R12)(AX*4), Y9, Y7
	ADDQ $16, AX
	CMPQ AX, DX
	JLT fourdim
	LANES4(Y0, Y4, X0)
	LANES4(Y1, Y5, X1)
	LANES4(Y2, Y6, X2)
	LANES4(Y3, Y7, X3)
	VUNPCKLPS X1, X0, X4 // a0 b0 a1 b1
	VUNPCKHPS X1, X0, X5 // a2 b2 a3 b3
	VADDPS X5, X4, X4
	VUNPCKLPS X3, X2, X5
	VUNPCKHPS X3, X2, X6
	VADDPS X6, X5, X5
	VMOVLHPS X5, X4, X6  // a0+a2 b0+b2 c0+c2 d0+d2
	VMOVHLPS X4, X5, X5  // a1+a3 b1+b3 c1+c3 d1+d3
	VADDPS X5, X6, X6
	VMULPS X15, X6, X6
	VMOVUPS X6, (DI)
	ADDQ $16, DI
	LEAQ (R8)(R9*4), R8
	SUBQ $4, CX
	JMP four

one:
	TESTQ CX, CX
	JEQ end
	VXORPS Y0, Y0, Y0
	VXORPS Y4, Y4, Y4
	XORQ AX, AX

onedim:
	VMOVUPS (SI)(AX*4), Y8
	VMOVUPS 32(SI)(AX*4), Y9
	VFMADD231PS (R8)(AX*4), Y8, Y0
	VFMADD231PS 32(R8)(AX*4), Y9, Y4
	ADDQ $16, AX
	CMPQ AX, DX
	JLT onedim
	LANES4(Y0, Y4, X0)
	VMOVHLPS X0, X0, X4
	VADDPS X4, X0, X0
	VMOVSHDUP X0, X4
	VADDSS X4, X0, X0
	VMULSS X15, X0, X0
	VMOVSS X0, (DI)
	ADDQ $4, DI
	ADDQ R9, R8
	DECQ CX
	JMP one

end:
	DECQ count+32(FP)
	JNE next
	VZEROUPPER
	RET

// func valuesAVX2(acc, p, values *float32, runs *run, count, stride, cols int)
// The twin of valuesAVX512.
TEXT ·valuesAVX2(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ values+16(FP), R8
	MOVQ stride+40(FP), R9
	MOVQ cols+48(FP), DX
	SHLQ $2, R9

wide:
	CMPQ DX, $32
	JLT narrow
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	MOVQ runs+24(FP), R11
	MOVQ count+32(FP), R12
	XORQ AX, AX

widerun:
	MOVQ run_from(R11), R10
	IMULQ R9, R10
	ADDQ R8, R10
	MOVQ run_n(R11), CX
	ADDQ AX, CX

widetoken:
	VBROADCASTSS (SI)(AX*4), Y4
	VMULPS (R10), Y4, Y5
	VMULPS 32(R10), Y4, Y6
	VMULPS 64(R10), Y4, Y7
	VMULPS 96(R10), Y4, Y8
	VADDPS Y5, Y0, Y0
	VADDPS Y6, Y1, Y1
	VADDPS Y7, Y2, Y2
	VADDPS Y8, Y3, Y3
	ADDQ R9, R10
	INCQ AX
	CMPQ AX, CX
	JLT widetoken
	ADDQ $run__size, R11
	DECQ R12
	JNE widerun
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ $128, DI
	ADDQ $128, R8
	SUBQ $32, DX
	JMP wide

narrow:
	TESTQ DX, DX
	JEQ done
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	MOVQ runs+24(FP), R11
	MOVQ count+32(FP), R12
	XORQ AX, AX

run:
	MOVQ run_from(R11), R10
	IMULQ R9, R10
	ADDQ R8, R10
	MOVQ run_n(R11), CX
	ADDQ AX, CX

token:
	VBROADCASTSS (SI)(AX*4), Y4
	VMULPS (R10), Y4, Y5
	VMULPS 32(R10), Y4, Y6
	VADDPS Y5, Y0, Y0
	VADDPS Y6, Y1, Y1
	ADDQ R9, R10
	INCQ AX
	CMPQ AX, CX
	JLT token
	ADDQ $run__size, R11
	DECQ R12
	JNE run
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $64, R8
	SUBQ $16, DX
	JMP narrow

done:
	VZEROUPPER
	RET

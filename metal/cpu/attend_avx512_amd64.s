#include "go_asm.h"
#include "textflag.h"

// LANES4 adds lanes l and l+8, then l and l+4, of Z into the four lanes of X. Y is the low half of Z.
#define LANES4(Z, Y, X) \
	VEXTRACTF64X4 $1, Z, Y7; \
	VADDPS Y7, Y, Y; \
	VEXTRACTF128 $1, Y, X7; \
	VADDPS X7, X, X

// func scoresAVX512(p, q, keys *float32, runs *run, count, stride, dim int, scale float32)
// p[j] = <q, keys[t*stride:]> * scale, t the j-th token of the count > 0 runs (none empty), by the lane rule with fused
// multiply-add; dim is a positive multiple of 16.
// Four keys share one walk over q, which hides the latency of the multiply-add.
TEXT ·scoresAVX512(SB), NOSPLIT, $0-60
	MOVQ p+0(FP), DI
	MOVQ q+8(FP), SI
	MOVQ runs+24(FP), R13
	MOVQ stride+40(FP), R9
	MOVQ dim+48(FP), DX
	VBROADCASTSS scale+56(FP), X8
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
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ AX, AX

fourdim:
	VMOVUPS (SI)(AX*4), Z4
	VFMADD231PS (R8)(AX*4), Z4, Z0
	VFMADD231PS (R10)(AX*4), Z4, Z1
	VFMADD231PS (R11)(AX*4), Z4, Z2
	VFMADD231PS (R12)(AX*4), Z4, Z3
	ADDQ $16, AX
	CMPQ AX, DX
	JLT fourdim
	LANES4(Z0, Y0, X0)
	LANES4(Z1, Y1, X1)
	LANES4(Z2, Y2, X2)
	LANES4(Z3, Y3, X3)
	VUNPCKLPS X1, X0, X4 // a0 b0 a1 b1
	VUNPCKHPS X1, X0, X5 // a2 b2 a3 b3
	VADDPS X5, X4, X4
	VUNPCKLPS X3, X2, X5
	VUNPCKHPS X3, X2, X6
	VADDPS X6, X5, X5
	VMOVLHPS X5, X4, X6  // a0+a2 b0+b2 c0+c2 d0+d2
	VMOVHLPS X4, X5, X5  // a1+a3 b1+b3 c1+c3 d1+d3
	VADDPS X5, X6, X6
	VMULPS X8, X6, X6
	VMOVUPS X6, (DI)
	ADDQ $16, DI
	LEAQ (R8)(R9*4), R8
	SUBQ $4, CX
	JMP four

one:
	TESTQ CX, CX
	JEQ end
	VPXORD Z0, Z0, Z0
	XORQ AX, AX

onedim:
	VMOVUPS (SI)(AX*4), Z4
	VFMADD231PS (R8)(AX*4), Z4, Z0
	ADDQ $16, AX
	CMPQ AX, DX
	JLT onedim
	LANES4(Z0, Y0, X0)
	VMOVHLPS X0, X0, X4
	VADDPS X4, X0, X0
	VMOVSHDUP X0, X4
	VADDSS X4, X0, X0
	VMULSS X8, X0, X0
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

// func valuesAVX512(acc, p, values *float32, runs *run, count, stride, cols int)
// acc[c] = acc[c] + p[j]*values[t*stride+c], t the j-th token of the count > 0 runs (none empty), products rounded; cols is
// a positive multiple of 16.
TEXT ·valuesAVX512(SB), NOSPLIT, $0-56
	MOVQ acc+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ values+16(FP), R8
	MOVQ stride+40(FP), R9
	MOVQ cols+48(FP), DX
	SHLQ $2, R9

wide:
	CMPQ DX, $64
	JLT narrow
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
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
	VBROADCASTSS (SI)(AX*4), Z4
	VMULPS (R10), Z4, Z5
	VMULPS 64(R10), Z4, Z6
	VMULPS 128(R10), Z4, Z7
	VMULPS 192(R10), Z4, Z8
	VADDPS Z5, Z0, Z0
	VADDPS Z6, Z1, Z1
	VADDPS Z7, Z2, Z2
	VADDPS Z8, Z3, Z3
	ADDQ R9, R10
	INCQ AX
	CMPQ AX, CX
	JLT widetoken
	ADDQ $run__size, R11
	DECQ R12
	JNE widerun
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ $256, DI
	ADDQ $256, R8
	SUBQ $64, DX
	JMP wide

narrow:
	TESTQ DX, DX
	JEQ done
	VMOVUPS (DI), Z0
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
	VBROADCASTSS (SI)(AX*4), Z4
	VMULPS (R10), Z4, Z5
	VADDPS Z5, Z0, Z0
	ADDQ R9, R10
	INCQ AX
	CMPQ AX, CX
	JLT token
	ADDQ $run__size, R11
	DECQ R12
	JNE run
	VMOVUPS Z0, (DI)
	ADDQ $64, DI
	ADDQ $64, R8
	SUBQ $16, DX
	JMP narrow

done:
	VZEROUPPER
	RET

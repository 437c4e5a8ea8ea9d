#include "textflag.h"

// The AVX2 twins of lane_avx512_amd64.s: lanes 0..7 in one register, 8..15 in the next. n is a positive multiple of 16.

// func squaresAVX2(acc *[16]float32, x *float32, n int)
TEXT ·squaresAVX2(SB), NOSPLIT, $0-24
	MOVQ acc+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

squares:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VMULPS Y2, Y2, Y2
	VMULPS Y3, Y3, Y3
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT squares
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func dotAVX2(acc *[16]float32, a, b *float32, n int)
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
	MOVQ acc+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

dot:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VMULPS (DX)(AX*4), Y2, Y2
	VMULPS 32(DX)(AX*4), Y3, Y3
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT dot
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func dotFusedAVX2(acc *[16]float32, a, b *float32, n int)
TEXT ·dotFusedAVX2(SB), NOSPLIT, $0-32
	MOVQ acc+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1

fused:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VFMADD231PS (DX)(AX*4), Y2, Y0
	VFMADD231PS 32(DX)(AX*4), Y3, Y1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT fused
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func scaleByAVX2(y, x, w *float32, n int, inv float32)
TEXT ·scaleByAVX2(SB), NOSPLIT, $0-36
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS inv+32(FP), Y0
	XORQ AX, AX

scale:
	VMULPS (SI)(AX*4), Y0, Y1
	VMULPS 32(SI)(AX*4), Y0, Y2
	VMULPS (DX)(AX*4), Y1, Y1
	VMULPS 32(DX)(AX*4), Y2, Y2
	VMOVUPS Y1, (DI)(AX*4)
	VMOVUPS Y2, 32(DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT scale
	VZEROUPPER
	RET

// func mulAVX2(y, x, w *float32, n int)
TEXT ·mulAVX2(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

mul:
	VMOVUPS (SI)(AX*4), Y1
	VMOVUPS 32(SI)(AX*4), Y2
	VMULPS (DX)(AX*4), Y1, Y1
	VMULPS 32(DX)(AX*4), Y2, Y2
	VMOVUPS Y1, (DI)(AX*4)
	VMOVUPS Y2, 32(DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT mul
	VZEROUPPER
	RET

// func mulAddAVX2(y, x, w *float32, n int)
TEXT ·mulAddAVX2(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	XORQ AX, AX

muladd:
	VMOVUPS (SI)(AX*4), Y1
	VMOVUPS 32(SI)(AX*4), Y2
	VMULPS (DX)(AX*4), Y1, Y1
	VMULPS 32(DX)(AX*4), Y2, Y2
	VADDPS (DI)(AX*4), Y1, Y1
	VADDPS 32(DI)(AX*4), Y2, Y2
	VMOVUPS Y1, (DI)(AX*4)
	VMOVUPS Y2, 32(DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT muladd
	VZEROUPPER
	RET

// func maxAVX2(acc *[16]float32, x *float32, n int)
TEXT ·maxAVX2(SB), NOSPLIT, $0-24
	MOVQ acc+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1

max:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VMAXPS Y0, Y2, Y0
	VMAXPS Y1, Y3, Y1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT max
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

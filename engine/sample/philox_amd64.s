//go:build !purego

#include "textflag.h"

// One round on four counters, one per 64-bit lane, of which the low 32 bits count: VPMULUDQ reads only those, and the high halves hold
// leftovers that nothing reads. M0 in Y8, M1 in Y9, round key in Y10 and Y11.
#define ROUND(c0, c1, c2, c3) \
	VPMULUDQ Y8, c0, Y12   \
	VPMULUDQ Y9, c2, Y13   \
	VPSRLQ   $32, Y13, c0  \
	VPXOR    c1, c0, c0    \
	VPXOR    Y10, c0, c0   \
	VPSRLQ   $32, Y12, c2  \
	VPXOR    c3, c2, c2    \
	VPXOR    Y11, c2, c2   \
	VMOVDQA  Y13, c1       \
	VMOVDQA  Y12, c3

// Two independent quartets hide the multiplier's latency.
#define ROUNDS \
	ROUND(Y0, Y1, Y2, Y3) \
	ROUND(Y4, Y5, Y6, Y7)

#define NEXTKEY \
	VPADDD Y14, Y10, Y10 \
	VPADDD Y15, Y11, Y11

// dst = (w1<<32 | w0) >> 12
#define STORE(w0, w1, dst) \
	VPSLLQ  $32, w1, w1 \
	VPSLLQ  $32, w0, w0 \
	VPSRLQ  $32, w0, w0 \
	VPOR    w1, w0, w0  \
	VPSRLQ  $12, w0, w0 \
	VMOVDQU w0, dst

DATA philoxConst<>+0(SB)/4, $0xD2511F53
DATA philoxConst<>+4(SB)/4, $0xCD9E8D57
DATA philoxConst<>+8(SB)/4, $0x9E3779B9
DATA philoxConst<>+12(SB)/4, $0xBB67AE85
GLOBL philoxConst<>(SB), RODATA|NOPTR, $16

// func philoxAVX2(dst *uint64, ids *int32, eights int, pos, choice, domain, k0, k1 uint32)
TEXT ·philoxAVX2(SB), NOSPLIT, $0-44
	MOVQ dst+0(FP), DI
	MOVQ ids+8(FP), SI
	MOVQ eights+16(FP), CX
	VPBROADCASTD philoxConst<>+0(SB), Y8
	VPBROADCASTD philoxConst<>+4(SB), Y9
	VPBROADCASTD philoxConst<>+8(SB), Y14
	VPBROADCASTD philoxConst<>+12(SB), Y15

loop:
	TESTQ CX, CX
	JLE   done
	MOVL         pos+24(FP), AX
	VMOVD        AX, X0
	VPBROADCASTD X0, Y0
	VPMOVZXDQ    (SI), Y1
	MOVL         choice+28(FP), AX
	VMOVD        AX, X2
	VPBROADCASTD X2, Y2
	MOVL         domain+32(FP), AX
	VMOVD        AX, X3
	VPBROADCASTD X3, Y3
	VMOVDQA      Y0, Y4
	VPMOVZXDQ    16(SI), Y5
	VMOVDQA      Y2, Y6
	VMOVDQA      Y3, Y7
	MOVL         k0+36(FP), AX
	VMOVD        AX, X10
	VPBROADCASTD X10, Y10
	MOVL         k1+40(FP), AX
	VMOVD        AX, X11
	VPBROADCASTD X11, Y11
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	NEXTKEY
	ROUNDS
	STORE(Y0, Y1, (DI))
	STORE(Y4, Y5, 32(DI))
	ADDQ $32, SI
	ADDQ $64, DI
	DECQ CX
	JMP  loop

done:
	VZEROUPPER
	RET

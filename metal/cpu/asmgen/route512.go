package main

// across writes a reduction whose result every lane gets: lanes l and l+8, l and l+4, l and l+2, l and l+1 of register z, by op.
// t is scratch.
func across(w *writer, op string, z, t int) {
	for _, swap := range []string{"VSHUFF64X2 $0x4e, Z%[1]d, Z%[1]d, Z%[2]d", "VSHUFF64X2 $0xb1, Z%[1]d, Z%[1]d, Z%[2]d",
		"VPERMILPS $0x4e, Z%[1]d, Z%[2]d",
		"VPERMILPS $0xb1, Z%[1]d, Z%[2]d"} {
		w.op(swap, z, t)
		w.op("%s Z%d, Z%d, Z%d", op, t, z, z)
	}
}

// route512 is the router for 16 experts. Z0 to Z3 as in the sweeps, Z3 p; Z4 scratch, Z5 p without those chosen, Z6 -1, R9 those chosen.
func route512(w *writer) {
	w.WriteString("\n// func routeAVX512(ids *int32, w, logits *float32, k int) bool\n" +
		"// Softmax of 16 logits and the k largest, 1 to 16, by ascending id; false, and nothing written, if there is a NaN.\n" +
		"TEXT ·routeAVX512(SB), NOSPLIT, $0-33\n")
	consts512(w)
	w.op("MOVQ ids+0(FP), DI")
	w.op("MOVQ w+8(FP), DX")
	w.op("MOVQ logits+16(FP), SI")
	w.op("MOVQ k+24(FP), CX")
	c := column{w, 0}
	w.op("VMOVUPS (SI), Z0")
	w.op("VMOVAPS Z0, Z1")
	across(w, "VMAXPS", 1, 4)
	w.op("VSUBPS Z1, Z0, Z0")
	c.exp()
	w.op("VMOVAPS Z3, Z5")
	across(w, "VADDPS", 5, 4)
	w.op("VUCOMISS X5, X5")
	w.op("JPS nan")
	w.op("VDIVPS Z5, Z3, Z3")
	w.op("VMOVAPS Z3, Z5")
	w.op("MOVL $0xbf800000, AX")
	w.op("VPBROADCASTD AX, Z6")
	w.op("XORL R9, R9")
	w.op("MOVQ CX, R10")
	w.label("next")
	w.op("VMOVAPS Z5, Z1")
	across(w, "VMAXPS", 1, 4)
	w.op("VCMPPS $0, Z1, Z5, K1")
	w.op("KMOVW K1, AX")
	w.op("MOVL AX, BX")
	w.op("NEGL BX")
	w.op("ANDL BX, AX") // the lowest id
	w.op("ORL AX, R9")
	w.op("KMOVW AX, K1")
	w.op("VMOVAPS Z6, K1, Z5")
	w.op("DECQ R10")
	w.op("JNZ next")
	w.op("KMOVW R9, K1")
	w.op("MOVL $1, AX")
	w.op("SHLL CX, AX")
	w.op("DECL AX")
	w.op("KMOVW AX, K2")
	w.op("VCOMPRESSPS.Z Z3, K1, Z3")
	w.op("VMOVUPS Z3, K2, (DX)")
	w.op("VMOVDQU32 ·expertIDs(SB), Z4")
	w.op("VPCOMPRESSD.Z Z4, K1, Z4")
	w.op("VMOVDQU32 Z4, K2, (DI)")
	w.op("MOVB $1, ret+32(FP)")
	w.op("VZEROUPPER")
	w.op("RET")
	w.label("nan")
	w.op("MOVB $0, ret+32(FP)")
	w.op("VZEROUPPER")
	w.op("RET")
}

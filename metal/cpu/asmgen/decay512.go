package main

// decay512 is Decay for heads of a row, eight at a time: the sweeps' steps in the low halves of registers, log1p in f64. Z0 to Z3 as in the
// sweeps; Z4 x of softplus, Z5 y, Z6 u, Z7 n, Z8 f and z, Z9 q, Z10 p, Z11 and Z12 scratch; R9 log1pConsts.
func decay512(w *writer) {
	w.WriteString("\n// func decayAVX512(beta, decay, b, a, rate, bias *float32, n int)\n" +
		"// beta = sigmoid(b), decay = exp(rate * softplus(a + bias)), n a positive multiple of 8.\nTEXT ·decayAVX512(SB), NOSPLIT, $0-56\n")
	consts512(w)
	for i, r := range []string{"DI", "R10", "SI", "DX", "R11", "R12"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"beta", "decay", "b", "a", "rate", "bias"}[i], 8*i, r)
	}
	w.op("MOVQ n+48(FP), CX")
	w.op("LEAQ ·log1pConsts(SB), R9")
	w.op("XORL AX, AX")
	c := column{w, 0}
	w.label("heads")
	w.op("VMOVUPS (SI)(AX*4), Y0")
	c.sigmoid()
	w.op("VMOVUPS Y3, (DI)(AX*4)")
	w.op("VMOVUPS (DX)(AX*4), Y0")
	w.op("VADDPS (R12)(AX*4), Y0, Y0")
	w.op("VMOVAPS Y0, Y4")
	c.exp()
	w.op("VCVTPS2PD Y3, Z5")
	bcst := func(op string, i, a, dst int) { w.op("%s.BCST %d(R9), Z%d, Z%d", op, 8*i, a, dst) }
	bcst("VADDPD", 0, 5, 6)
	bcst("VPSUBQ", 1, 6, 7)
	w.op("VPSRAQ $52, Z7, Z7")
	w.op("VPSLLQ $52, Z7, Z8")
	w.op("VPSUBQ Z8, Z6, Z8")
	w.op("VCVTQQ2PD Z7, Z7")
	bcst("VSUBPD", 0, 8, 11)
	bcst("VADDPD", 0, 8, 12)
	w.op("VDIVPD Z12, Z11, Z8")
	w.op("VMULPD Z8, Z8, Z9")
	bcst("VMULPD", 2, 9, 10)
	for i := 3; i < 10; i++ {
		bcst("VADDPD", i, 10, 10)
		if i < 9 {
			w.op("VMULPD Z9, Z10, Z10")
		}
	}
	w.op("VADDPD Z8, Z8, Z8")
	w.op("VMULPD Z9, Z8, Z11")
	w.op("VMULPD Z10, Z11, Z11")
	w.op("VADDPD Z11, Z8, Z8")
	bcst("VMULPD", 10, 7, 7)
	w.op("VADDPD Z8, Z7, Z7")
	bcst("VSUBPD", 0, 6, 11)
	w.op("VSUBPD Z11, Z5, Z11")
	w.op("VDIVPD Z6, Z11, Z11")
	w.op("VADDPD Z11, Z7, Z7")
	w.op("VCVTPD2PS Z7, Y0")
	w.op("VBROADCASTSS %d(R9), Y11", 8*11)
	w.op("VCMPPS $30, Y11, Y4, K1") // greater than 20
	w.op("VMOVAPS Y4, K1, Y0")
	w.op("VMULPS (R11)(AX*4), Y0, Y0")
	c.exp()
	w.op("VMOVUPS Y3, (R10)(AX*4)")
	w.op("ADDQ $8, AX")
	w.op("CMPQ AX, CX")
	w.op("JLT heads")
	w.op("VZEROUPPER")
	w.op("RET")
}

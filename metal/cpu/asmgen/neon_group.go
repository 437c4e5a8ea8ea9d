package main

// Attention of several heads at once, which share the loads of keys and values. R0 arguments; R10 runs, R11 runs left, R12 bytes from
// token to token, R13 keys or values of token 0, R15 tokens left of this run.

func (w *arm) groupArgs() {
	w.args("a+0", "R0")
	w.op("MOVD groupArgs_runs(R0), R10")
	w.op("MOVD groupArgs_count(R0), R11")
	w.op("MOVD groupArgs_stride(R0), R12")
	w.op("MOVD groupArgs_keys(R0), R13")
}

// nextRun leaves the address of the next run's first token.
func (w *arm) nextRun(to string) {
	w.op("MOVD run_from(R10), %s", to)
	w.op("MADD R12, R13, %s, %s", to, to)
	w.op("MOVD run_n(R10), R15")
	w.op("ADD $run__size, R10, R10")
}

// groupScoresNEON: R1 R2 p of the heads, R3 R4 q, R5 dim/16, R6 R7 places in q, R8 counter, R14 R16 the tokens, R17 the next one. Sums V0..V15
// ((head*2 + token)*4 + lanes), keys V16.. and V20.., q V24.. and V28...
func groupScoresNEON(w *arm) {
	w.begin("groupScoresNEON", "a *groupArgs", 8, "Scores of two heads, two tokens at a time, as scoresNEON has them one by one.")
	w.groupArgs()
	w.op("MOVD groupArgs_p(R0), R1")
	w.op("MOVD groupArgs_total(R0), R2")
	w.op("ADD R1, R2, R2")
	w.op("MOVD groupArgs_q(R0), R3")
	w.op("MOVD groupArgs_dim(R0), R5")
	w.op("ADD R3, R5, R4")
	w.op("LSR $6, R5, R5")
	tokens := []string{"R14", "R16"}
	dots := func(n int, label string) {
		w.each(16, w.zero)
		w.op("MOVD R3, R6")
		w.op("MOVD R4, R7")
		w.op("MOVD R5, R8")
		w.label(label)
		w.load("R6", 24, 4)
		w.load("R7", 28, 4)
		for t := range n {
			w.load(tokens[t], 16+4*t, 4)
			for h := range 2 {
				w.each(4, func(v int) { w.fmla(16+4*t+v, 24+4*h+v, (h*2+t)*4+v) })
			}
		}
		w.down("R8", label)
		for h := range 2 {
			for t := range n {
				s := (h*2 + t) * 4
				w.enc(fadd, s, s, s+2)
				w.enc(fadd, s+1, s+1, s+3)
				w.enc(fadd, s, s, s+1)
			}
		}
		w.op("FMOVS groupArgs_scale(R0), F31")
	}
	w.label("run")
	w.nextRun("R17")
	w.op("SUBS $2, R15, R15")
	w.op("BLT one")
	w.label("two")
	w.op("MOVD R17, R14")
	w.op("ADD R12, R17, R16")
	w.op("ADD R12, R16, R17")
	dots(2, "columns")
	w.op("VZIP1 V4.S4, V0.S4, V16.S4") // a0 b0 a1 b1: tokens a and b of the first head
	w.op("VZIP2 V4.S4, V0.S4, V17.S4") // a2 b2 a3 b3
	w.op("VZIP1 V12.S4, V8.S4, V18.S4")
	w.op("VZIP2 V12.S4, V8.S4, V19.S4")
	w.enc(fadd, 16, 16, 17)
	w.enc(fadd, 18, 18, 19)
	w.op("VZIP1 V18.D2, V16.D2, V0.D2")
	w.op("VZIP2 V18.D2, V16.D2, V1.D2")
	w.enc(fadd, 0, 0, 1)
	w.enc(fmulE, 0, 0, 31, 0)
	w.op("VEXT $8, V0.B16, V0.B16, V1.B16")
	w.op("FMOVD.P F0, 8(R1)")
	w.op("FMOVD.P F1, 8(R2)")
	w.op("SUBS $2, R15, R15")
	w.op("BGE two")
	w.label("one")
	w.op("TBZ $0, R15, end") // -1: one is left, -2: none
	w.op("MOVD R17, R14")
	dots(1, "onecolumns")
	w.op("VZIP1 V8.S4, V0.S4, V16.S4") // a0 b0 a1 b1: the token in both heads
	w.op("VZIP2 V8.S4, V0.S4, V17.S4") // a2 b2 a3 b3
	w.enc(fadd, 0, 16, 17)
	w.op("VEXT $8, V0.B16, V0.B16, V1.B16")
	w.enc(fadd, 0, 0, 1)
	w.enc(fmulE, 0, 0, 31, 0)
	w.dup(0, 1, 1)
	w.op("FMOVS.P F0, 4(R1)")
	w.op("FMOVS.P F1, 4(R2)")
	w.label("end")
	w.down("R11", "run")
	w.op("RET")
}

// groupValuesNEON: R1..R4 sums of the heads, R5..R8 p, R14 values of the token. Sums V0..V15 (head*4 + vector), values V16.., p
// V20.., products V24...
func groupValuesNEON(w *arm) {
	w.begin("groupValuesNEON", "a *groupArgs", 8, "Adds the weighted values of four heads, 16 columns; q is where the sums are.")
	w.groupArgs()
	w.op("MOVD groupArgs_q(R0), R1")
	w.op("MOVD groupArgs_p(R0), R5")
	w.op("MOVD groupArgs_dim(R0), R16")
	w.op("MOVD groupArgs_total(R0), R17")
	for h := range 4 {
		if h > 0 {
			w.op("ADD R16, R%d, R%d", h, 1+h)
			w.op("ADD R17, R%d, R%d", 4+h, 5+h)
		}
		w.op("VLD1 (R%d), %s", 1+h, list(4*h, 4, "S4"))
	}
	w.label("run")
	w.nextRun("R14")
	w.label("token")
	w.op("VLD1.P (R14)(R12), %s", list(16, 4, "S4"))
	for h := range 4 {
		w.op("FMOVS.P 4(R%d), F%d", 5+h, 20+h)
	}
	for h := range 4 {
		product := func(v int) int { return 24 + h%2*4 + v }
		w.each(4, func(v int) { w.enc(fmulE, product(v), 16+v, 20+h, 0) })
		w.each(4, func(v int) { w.enc(fadd, 4*h+v, 4*h+v, product(v)) })
	}
	w.down("R15", "token")
	w.down("R11", "run")
	for h := range 4 {
		w.op("VST1 %s, (R%d)", list(4*h, 4, "S4"), 1+h)
	}
	w.op("RET")
}

package main

// deltaNEON is one row of one value head, the twin of deltaAVX512. Columns are taken 32, then 16 at a time. R0 arguments,
// R1 state, R2 from, R3 v, R4 o (0: no output), R5 bytes from key to key, R6 keys, R7 columns left, R8 k, R9 q, R10 keys left, R11 row of
// from, R12 row of the state, R13 scratch. V0..V7 sums, V8..V15 state, V16..V23 v - p, V28 decay, V29 beta, V30 k, V31 q.
func deltaNEON() string {
	w := armFile()
	w.begin("deltaNEON", "a *deltaArgs", 8, "cols is a positive multiple of 16, keys is positive.")
	w.args("a+0", "R0")
	for i, f := range []string{"state", "from", "v", "o", "stride", "keys", "cols"} {
		w.op("MOVD deltaArgs_%s(R0), R%d", f, 1+i)
	}
	w.op("FMOVS deltaArgs_decay(R0), F28")
	w.op("FMOVS deltaArgs_beta(R0), F29")
	w.op("LSL $2, R5, R5")
	w.op("SUBS $32, R7, R7")
	w.op("BLT narrow")
	w.label("wide")
	deltaColumns(w, 8, "wide")
	w.op("SUBS $32, R7, R7")
	w.op("BGE wide")
	w.label("narrow")
	w.op("ADDS $32, R7, R7")
	w.op("BEQ done")
	deltaColumns(w, 4, "narrow")
	w.label("done")
	w.op("RET")
	return w.String()
}

// deltaColumns does n vectors of columns and moves on.
func deltaColumns(w *arm, n int, label string) {
	all := func(f func(v int)) { w.each(n, f) }
	// many reads or writes n registers at an address, which stays.
	many := func(read bool, v int, at string) {
		for i := 0; i < n; i += 4 {
			from := at
			if i > 0 {
				w.op("ADD $64, %s, R13", at)
				from = "R13"
			}
			if read {
				w.op("VLD1 (%s), %s", from, list(v+i, 4, "S4"))
			} else {
				w.op("VST1 %s, (%s)", list(v+i, 4, "S4"), from)
			}
		}
	}
	w.op("MOVD deltaArgs_k(R0), R8")
	w.op("MOVD R6, R10")
	w.op("MOVD R2, R11")
	w.op("MOVD R1, R12")
	all(w.zero)
	w.label(label + "predict")
	w.op("FMOVS.P 4(R8), F30")
	many(true, 8, "R11")
	all(func(v int) { w.enc(fmulE, 8+v, 8+v, 28, 0) })
	many(false, 8, "R12")
	all(func(v int) { w.enc(fmulE, 8+v, 8+v, 30, 0) })
	all(func(v int) { w.enc(fadd, v, v, 8+v) })
	w.op("ADD R5, R11, R11")
	w.op("ADD R5, R12, R12")
	w.down("R10", label+"predict")

	many(true, 16, "R3")
	all(func(v int) { w.enc(fsub, 16+v, 16+v, v) })
	all(func(v int) { w.enc(fmulE, 16+v, 16+v, 29, 0) })
	w.op("MOVD deltaArgs_k(R0), R8")
	w.op("MOVD deltaArgs_q(R0), R9")
	w.op("MOVD R6, R10")
	w.op("MOVD R1, R12")
	all(w.zero)
	w.label(label + "read")
	w.op("FMOVS.P 4(R8), F30")
	w.op("FMOVS.P 4(R9), F31")
	many(true, 8, "R12")
	all(func(v int) {
		w.enc(fmulE, 24+v%4, 16+v, 30, 0)
		w.enc(fadd, 8+v, 8+v, 24+v%4)
	})
	many(false, 8, "R12")
	all(func(v int) { w.enc(fmulE, 8+v, 8+v, 31, 0) })
	all(func(v int) { w.enc(fadd, v, v, 8+v) })
	w.op("ADD R5, R12, R12")
	w.down("R10", label+"read")
	w.op("CBZ R4, %snext", label)
	many(false, 0, "R4")
	w.op("ADD $%d, R4, R4", 16*n)
	w.label(label + "next")
	for _, r := range []string{"R1", "R2", "R3"} {
		w.op("ADD $%d, %s, %s", 16*n, r, r)
	}
}

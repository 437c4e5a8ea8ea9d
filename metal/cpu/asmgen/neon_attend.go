package main

// Attention's walks over keys and values: the NEON twins of attend_avx512_amd64.s.

func attendNEON() string {
	w := armFile()
	scoresNEON(w)
	valuesNEON(w)
	groupScoresNEON(w)
	groupValuesNEON(w)
	return w.String()
}

// scoresNEON: R0 p, R1 q, R2 keys, R3 runs, R4 runs left, R5 bytes from token to token, R6 dim, R7 tokens left, R8.. the tokens'
// keys, R12 place in q, R13 columns left. V0..V15 lanes of four tokens, four each, V16.. q, V20.. keys, V31 scale.
func scoresNEON(w *arm) {
	w.begin("scoresNEON", "p, q, keys *float32, runs *run, count, stride, dim int, scale float32", 60,
		"p[j] = <q, keys of the j-th token of the runs> * scale, by the lane rule, fused. dim is a positive multiple of 16.")
	w.args("p+0", "R0", "q+8", "R1", "keys+16", "R2", "runs+24", "R3", "count+32", "R4", "stride+40", "R5", "dim+48", "R6")
	w.op("FMOVS scale+56(FP), F31")
	w.op("LSL $2, R5, R5")
	// dots adds the products of all columns for n tokens.
	dots := func(n int, label string) {
		w.each(4*n, w.zero)
		w.op("MOVD R1, R12")
		w.op("LSR $4, R6, R13")
		w.label(label)
		w.load("R12", 16, 4)
		for t := range n {
			k := 20 + 4*(t%2)
			w.load(rowReg(t), k, 4)
			for v := range 4 {
				w.fmla(k+v, 16+v, 4*t+v)
			}
		}
		w.down("R13", label)
		// Lanes l and l+8, then l and l+4: four are left of each token.
		for t := range n {
			w.enc(fadd, 4*t, 4*t, 4*t+2)
			w.enc(fadd, 4*t+1, 4*t+1, 4*t+3)
			w.enc(fadd, 4*t, 4*t, 4*t+1)
		}
	}
	w.label("next")
	w.op("MOVD run_from(R3), R8")
	w.op("MADD R5, R2, R8, R8")
	w.op("MOVD run_n(R3), R7")
	w.op("ADD $run__size, R3, R3")
	w.op("SUBS $4, R7, R7")
	w.op("BLT rest")
	w.label("four")
	w.op("ADD R5, R8, R9")
	w.op("ADD R5, R9, R10")
	w.op("ADD R5, R10, R11")
	w.op("ADD R5, R11, R14")
	dots(4, "columns")
	w.op("VZIP1 V4.S4, V0.S4, V16.S4") // a0 b0 a1 b1
	w.op("VZIP2 V4.S4, V0.S4, V17.S4") // a2 b2 a3 b3
	w.op("VZIP1 V12.S4, V8.S4, V18.S4")
	w.op("VZIP2 V12.S4, V8.S4, V19.S4")
	w.enc(fadd, 16, 16, 17)
	w.enc(fadd, 18, 18, 19)
	w.op("VZIP1 V18.D2, V16.D2, V0.D2") // a0+a2 b0+b2 c0+c2 d0+d2
	w.op("VZIP2 V18.D2, V16.D2, V1.D2") // a1+a3 ...
	w.enc(fadd, 0, 0, 1)
	w.enc(fmulE, 0, 0, 31, 0)
	w.store(0, 1, "R0")
	w.op("MOVD R14, R8")
	w.op("SUBS $4, R7, R7")
	w.op("BGE four")
	w.label("rest")
	w.op("ADDS $4, R7, R7")
	w.op("BEQ end")
	w.label("one")
	w.op("ADD R5, R8, R14")
	dots(1, "onecolumns")
	w.op("VEXT $8, V0.B16, V0.B16, V1.B16")
	w.enc(fadd, 0, 0, 1)
	w.dup(0, 1, 1)
	w.enc(fadd, 0, 0, 1)
	w.enc(fmulE, 0, 0, 31, 0)
	w.op("FMOVS.P F0, 4(R0)")
	w.op("MOVD R14, R8")
	w.down("R7", "one")
	w.label("end")
	w.down("R4", "next")
	w.op("RET")
}

// valuesNEON: R0 acc, R1 p, R2 values, R3 runs, R4 their number, R5 bytes from token to token, R6 columns left, R7 p of this
// token, R8 its values, R9 tokens left, R10 run, R11 runs left. V0..V7 sums, V16.. values, V31 p.
func valuesNEON(w *arm) {
	w.begin("valuesNEON", "acc, p, values *float32, runs *run, count, stride, cols int", 56,
		"acc += sum_j p[j] * values of the j-th token of the runs, ascending, products rounded. cols is a multiple of 16.")
	w.args("acc+0", "R0", "p+8", "R1", "values+16", "R2", "runs+24", "R3", "count+32", "R4", "stride+40", "R5", "cols+48", "R6")
	w.op("LSL $2, R5, R5")
	w.op("SUBS $32, R6, R6")
	w.op("BLT narrow")
	// walk does n vectors of columns and moves on.
	walk := func(n int, label string) {
		for v := 0; v < n; v += 4 {
			w.op("ADD $%d, R0, R12", 16*v)
			w.op("VLD1 (R12), %s", list(v, 4, "S4"))
		}
		w.op("MOVD R1, R7")
		w.op("MOVD R3, R10")
		w.op("MOVD R4, R11")
		w.label(label + "run")
		w.op("MOVD run_from(R10), R8")
		w.op("MADD R5, R2, R8, R8")
		w.op("MOVD run_n(R10), R9")
		w.op("ADD $run__size, R10, R10")
		w.label(label + "token")
		w.op("FMOVS.P 4(R7), F31")
		if n == 4 {
			w.op("VLD1 (R8), %s", list(16, 4, "S4"))
		} else {
			w.op("ADD $64, R8, R12")
			w.op("VLD1 (R8), %s", list(16, 4, "S4"))
			w.op("VLD1 (R12), %s", list(20, 4, "S4"))
		}
		w.each(n, func(v int) { w.enc(fmulE, 16+v, 16+v, 31, 0) })
		w.each(n, func(v int) { w.enc(fadd, v, v, 16+v) })
		w.op("ADD R5, R8, R8")
		w.down("R9", label+"token")
		w.down("R11", label+"run")
		for v := 0; v < n; v += 4 {
			w.store(v, 4, "R0")
		}
		w.op("ADD $%d, R2, R2", 16*n)
	}
	w.label("wide")
	walk(8, "wide")
	w.op("SUBS $32, R6, R6")
	w.op("BGE wide")
	w.label("narrow")
	w.op("ADDS $32, R6, R6")
	w.op("BEQ done")
	walk(4, "narrow")
	w.label("done")
	w.op("RET")
}

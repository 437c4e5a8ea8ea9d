package main

import "fmt"

// Sums and sweeps by lanes of 16, four registers a lane set: the NEON twins of lane_avx512_amd64.s. n is a positive multiple of 16.

// lanes writes a loop over 16 elements at a time; R3 counts them.
func (w *arm) lanes(body func()) {
	w.op("LSR $4, R3, R3")
	w.label("loop")
	body()
	w.down("R3", "loop")
}

func lanesNEON() string {
	w := armFile()
	four := func(f func(v int)) { w.each(4, f) }
	sum := func(name, args string, size int, comment string, step func()) {
		w.begin(name, args, size, comment)
		w.args("acc+0", "R0")
		four(w.zero)
		step()
		w.op("VST1 %s, (R0)", list(0, 4, "S4"))
		w.op("RET")
	}
	sum("squaresNEON", "acc *[16]float32, x *float32, n int", 24, "acc = the lanes of the sum of squares.", func() {
		w.args("x+8", "R1", "n+16", "R3")
		w.lanes(func() {
			w.load("R1", 4, 4)
			four(func(v int) { w.enc(fmul, 4+v, 4+v, 4+v) })
			four(func(v int) { w.enc(fadd, v, v, 4+v) })
		})
	})
	sum("dotNEON", "acc *[16]float32, a, b *float32, n int", 32, "acc = the lanes of <a, b>, products rounded.", func() {
		w.args("a+8", "R1", "b+16", "R2", "n+24", "R3")
		w.lanes(func() {
			w.load("R1", 4, 4)
			w.load("R2", 16, 4)
			four(func(v int) { w.enc(fmul, 4+v, 4+v, 16+v) })
			four(func(v int) { w.enc(fadd, v, v, 4+v) })
		})
	})
	sum("dotFusedNEON", "acc *[16]float32, a, b *float32, n int", 32, "acc = the lanes of <a, b>, fused.", func() {
		w.args("a+8", "R1", "b+16", "R2", "n+24", "R3")
		w.lanes(func() {
			w.load("R1", 4, 4)
			w.load("R2", 16, 4)
			four(func(v int) { w.fmla(16+v, 4+v, v) })
		})
	})
	w.begin("maxNEON", "acc *[16]float32, x *float32, n int", 24, "acc = the larger of acc and x, lane by lane; a NaN is passed over.")
	w.args("acc+0", "R0", "x+8", "R1", "n+16", "R3")
	w.op("VLD1 (R0), %s", list(0, 4, "S4"))
	w.lanes(func() {
		w.load("R1", 4, 4)
		four(func(v int) {
			w.enc(fcmgt, 8+v, 4+v, v)
			w.op("VBIT V%d.B16, V%d.B16, V%d.B16", 8+v, 4+v, v)
		})
	})
	w.op("VST1 %s, (R0)", list(0, 4, "S4"))
	w.op("RET")

	w.begin("scaleByNEON", "y, x, w *float32, n int, inv float32", 36, "y = (x * inv) * w.")
	w.args("y+0", "R0", "x+8", "R1", "w+16", "R2", "n+24", "R3")
	w.op("FMOVS inv+32(FP), F31")
	w.lanes(func() {
		w.load("R1", 0, 4)
		w.load("R2", 4, 4)
		four(func(v int) { w.enc(fmulE, v, v, 31, 0) })
		four(func(v int) { w.enc(fmul, v, v, 4+v) })
		w.store(0, 4, "R0")
	})
	w.op("RET")
	for _, add := range []bool{false, true} {
		name, comment := "mulNEON", "y = x * w."
		if add {
			name, comment = "mulAddNEON", "y = y + x*w, the product rounded."
		}
		w.begin(name, "y, x, w *float32, n int", 32, comment)
		w.args("y+0", "R0", "x+8", "R1", "w+16", "R2", "n+24", "R3")
		w.lanes(func() {
			w.load("R1", 0, 4)
			w.load("R2", 4, 4)
			four(func(v int) { w.enc(fmul, v, v, 4+v) })
			if add {
				w.op("VLD1 (R0), %s", list(8, 4, "S4"))
				four(func(v int) { w.enc(fadd, v, 8+v, v) })
			}
			w.store(0, 4, "R0")
		})
		w.op("RET")
	}

	w.begin("conv4NEON", "y, x0, x1, x2, x3, w *float32, taps, n int", 64,
		"y = ((w0*x0 + w1*x1) + w2*x2) + w3*x3, every product and sum rounded; tap j's weights are taps bytes after tap j-1's.")
	w.args("y+0", "R0", "n+56", "R3", "taps+48", "R9", "w+40", "R4", "x0+8", "R10", "x1+16", "R11", "x2+24", "R12", "x3+32", "R13")
	for j := range 3 {
		w.op("ADD R9, R%d, R%d", 4+j, 5+j)
	}
	w.lanes(func() {
		for j := range 4 {
			to := 8 * min(j, 1) // the first product is the sum so far
			w.load(fmt.Sprintf("R%d", 4+j), to, 4)
			w.load(fmt.Sprintf("R%d", 10+j), 16, 4)
			four(func(v int) { w.enc(fmul, to+v, to+v, 16+v) })
			if j > 0 {
				four(func(v int) { w.enc(fadd, v, v, 8+v) })
			}
		}
		w.store(0, 4, "R0")
	})
	w.op("RET")
	return w.String()
}

package main

import "fmt"

// Registers of the sweeps, for two vectors a and b side by side (a's are 0..7, b's 8..15), which keeps the divider and the
// polynomial's chain busy: input x, second operand u, result p, scratch t, n, r and m, old dst; 16.. constants in sweepConsts' order,
// 30 scale.
const (
	swX = iota
	swU
	swP
	swT
	swN
	swR
	swM
	swOld
	swScale = 30
)

// sweepNEON is the body of a sweep on one vector, whose registers begin at b. Its x, u and dst are loaded.
var sweepNEON = map[string]func(w *arm, b int){
	"siluMul": func(w *arm, b int) {
		w.silu(b)
		w.enc(fmul, b+swP, b+swP, b+swU)
	},
	"sigmoidMul": func(w *arm, b int) {
		w.sigmoid(b)
		w.enc(fmul, b+swP, b+swP, b+swU)
	},
	"addGated": func(w *arm, b int) {
		w.sigmoid(b)
		w.enc(fmul, b+swP, b+swP, b+swU)
		w.enc(fadd, b+swP, b+swP, b+swOld)
	},
	"siluScale": func(w *arm, b int) {
		w.enc(fmul, b+swX, b+swOld, swScale)
		w.silu(b)
	},
	"expShift": func(w *arm, b int) {
		w.enc(fsub, b+swX, b+swOld, swScale)
		w.exp(b)
	},
	"addScaled": func(w *arm, b int) {
		w.enc(fmul, b+swP, b+swX, swScale)
		w.enc(fadd, b+swP, b+swP, b+swOld)
	},
}

// exp leaves the canonical exponential of x in p. Every step is the one of expf32.
func (w *arm) exp(b int) {
	x, p, t, n, r, m := b+swX, b+swP, b+swT, b+swN, b+swR, b+swM
	c := func(i int) int { return 16 + i }
	w.enc(fmul, t, x, c(cLog2e))
	w.enc(fadd, t, t, c(cMagic))
	w.enc(fsub, n, t, c(cMagic))
	w.enc(fmul, r, n, c(cLn2Hi))
	w.enc(fsub, r, x, r)
	w.enc(fmul, n, n, c(cLn2Lo))
	w.enc(fsub, r, r, n)
	w.enc(fmul, p, r, c(cC6))
	w.enc(fadd, p, p, c(cC5))
	for _, i := range []int{cC4, cC3, cC2, cOne, cOne} {
		w.enc(fmul, p, p, r)
		w.enc(fadd, p, p, c(i))
	}
	w.shl(23, t, t)
	w.add(t, p, p)
	w.enc(fcmgt, m, c(cMin), x) // false for NaN
	w.enc(bic, p, p, m)
	w.enc(fadd, t, x, c(cInf))
	w.enc(fcmge, m, c(cMax), x)
	w.op("VBIF V%d.B16, V%d.B16, V%d.B16", m, t, p) // x + Inf where not x <= max
}

// denominator leaves 1 + exp(-x) in p, and -x in x.
func (w *arm) denominator(b int) {
	w.enc(fneg, b+swX, b+swX)
	w.exp(b)
	w.enc(fadd, b+swP, b+swP, 16+cOne)
}

func (w *arm) silu(b int) {
	w.denominator(b)
	w.enc(fneg, b+swX, b+swX)
	w.enc(fdiv, b+swP, b+swX, b+swP)
}

func (w *arm) sigmoid(b int) {
	w.denominator(b)
	w.enc(fdiv, b+swP, 16+cOne, b+swP)
}

func sweepsNEON() string {
	w := armFile()
	for _, k := range sweeps {
		w.begin(k.name+"NEON", "dst, x, u *float32, n int, scale float32", 36, k.comment+", n a multiple of 4.")
		w.args("dst+0", "R0", "n+24", "R3")
		x, u, old := false, false, k.name != "siluMul" && k.name != "sigmoidMul"
		for _, a := range k.args {
			switch a {
			case 'x':
				w.args("x+8", "R1")
				x = true
			case 'u':
				w.args("u+16", "R2")
				u = true
			case 's':
				w.op("FMOVS scale+32(FP), F%d", swScale)
				w.dup(swScale, 0, swScale)
			}
		}
		if k.sigma {
			w.op("MOVD $·sweepConsts(SB), R8")
			w.op("MOVD $32, R9")
			for c := range constants {
				w.op("VLD1R.P (R8)(R9), [V%d.S4]", 16+c)
			}
		}
		// step does n vectors.
		step := func(n int) {
			for b := range n {
				if x {
					w.load("R1", 8*b+swX, 1)
				}
				if u {
					w.load("R2", 8*b+swU, 1)
				}
				if old {
					w.op("FMOVQ %d(R0), F%d", 16*b, 8*b+swOld)
				}
			}
			for b := range n {
				sweepNEON[k.name](w, 8*b)
			}
			for b := range n {
				w.store(8*b+swP, 1, "R0")
			}
		}
		w.op("SUBS $8, R3, R3")
		w.op("BLT one")
		w.label("two")
		step(2)
		w.op("SUBS $8, R3, R3")
		w.op("BGE two")
		w.label("one")
		w.op("TBZ $2, R3, done")
		step(1)
		w.label("done")
		w.op("RET")
	}
	return w.String()
}

func sweepsNEONGo() string {
	w := new(writer)
	w.WriteString(header + "package cpu\n")
	for _, k := range sweeps {
		fmt.Fprintf(w, "\n//go:noescape\nfunc %sNEON(dst, x, u *float32, n int, scale float32)\n", k.name)
	}
	return w.String()
}

package main

import (
	"fmt"
	"strings"
)

// sideBySide is the vectors that the AVX-512 sweeps take at once, one step of all of them after the other: each step of the exponential
// waits for the one before it, and the processor's scheduler is too small to find other work behind a chain of twenty steps.
const sideBySide = 4

// column writes the operations of vector i of those that are done side by side. Its registers: x input, a the exponential's argument
// and then r, n, p the result. Z16.. constants, Z30 scale.
type column struct {
	w *writer
	i int
}

func (c column) x() string { return fmt.Sprintf("Z%d", 4*c.i) }
func (c column) a() string { return fmt.Sprintf("Z%d", 4*c.i+1) }
func (c column) n() string { return fmt.Sprintf("Z%d", 4*c.i+2) }
func (c column) p() string { return fmt.Sprintf("Z%d", 4*c.i+3) }

// at is the vector's place in the row that begins at reg.
func (c column) at(reg string) string { return fmt.Sprintf("%d(%s)(AX*4)", 64*c.i, reg) }

// Constants of the AVX-512 sweeps, by the register from Z16 on that holds them.
const (
	kLog2e = 16 + iota
	kMagic
	kLn2Hi
	kLn2Lo
	kC6
	kC5
	kC4
	kC3
	kC2
	kOne
	kMin
	kLow  // arguments are clamped to kLow..kHigh, beyond which
	kHigh // the exponential stays 0 or infinite
)

// consts512 loads the constants.
func consts512(w *writer) {
	w.op("LEAQ ·sweepConsts(SB), R8")
	for k, row := range [...]int{cLog2e, cMagic, cLn2Hi, cLn2Lo, cC6, cC5, cC4, cC3, cC2, cOne, cMin, cLow, cHigh} {
		w.op("VBROADCASTSS %d(R8), Z%d", 32*row, 16+k)
	}
}

// scaled leaves e^a, by the steps of expf32, of an argument that is clamped; with minus it is e^-a, from the same steps with
// the other sign: rounding is the same on both sides of 0. VSCALEFPS multiplies by 2^n; its overflow is the infinity of expf32.
func (c column) scaled(minus bool, mask string) {
	add, sub := "VADDPS", "VSUBPS"
	op := c.w.op
	op("VMULPS Z%d, %s, %s", kLog2e, c.a(), c.p())
	if minus {
		op("VSUBPS %s, Z%d, %s", c.p(), kMagic, c.n())
	} else {
		op("VADDPS %s, Z%d, %s", c.p(), kMagic, c.n())
		add, sub = sub, add
	}
	op("VSUBPS Z%d, %s, %s", kMagic, c.n(), c.n())
	for _, k := range []int{kLn2Hi, kLn2Lo} {
		op("VMULPS Z%d, %s, %s", k, c.n(), c.p())
		op("%s %s, %s, %s", add, c.p(), c.a(), c.a())
	}
	op("VMULPS Z%d, %s, %s", kC6, c.a(), c.p())
	op("%s %s, Z%d, %s", sub, c.p(), kC5, c.p())
	for _, k := range []int{kC4, kC3, kC2, kOne, kOne} {
		op("VMULPS %s, %s, %s", c.p(), c.a(), c.p())
		op("%s %s, Z%d, %s", sub, c.p(), k, c.p())
	}
	if mask == "" {
		op("VSCALEFPS %s, %s, %s", c.n(), c.p(), c.p())
	} else {
		op("VSCALEFPS.Z %s, %s, %s, %s", c.n(), c.p(), mask, c.p())
	}
}

// clamp leaves x between kLow and kHigh in a; a NaN stays, being the second source of both.
func (c column) clamp(x string) {
	c.w.op("VMAXPS %s, Z%d, %s", x, kLow, c.a())
	c.w.op("VMINPS %s, Z%d, %s", c.a(), kHigh, c.a())
}

// exp leaves e^x in p, 0 below kMin.
func (c column) exp() {
	mask := fmt.Sprintf("K%d", c.i+1)
	c.w.op("VCMPPS $21, Z%d, %s, %s", kMin, c.x(), mask) // not less than
	c.clamp(c.x())
	c.scaled(false, mask)
}

// denominator leaves 1 + e^-x in p. What expf32 takes for 0 is too small to change the sum.
func (c column) denominator() {
	c.clamp(c.x())
	c.scaled(true, "")
	c.w.op("VADDPS Z%d, %s, %s", kOne, c.p(), c.p())
}

func (c column) silu() {
	c.denominator()
	c.w.op("VDIVPS %s, %s, %s", c.p(), c.x(), c.p())
}

func (c column) sigmoid() {
	c.denominator()
	c.w.op("VDIVPS %s, Z%d, %s", c.p(), kOne, c.p())
}

func (c column) store() { c.w.op("VMOVUPS %s, %s", c.p(), c.at("DI")) }

// gated leaves sigmoid(x) * u in p, for x and u in memory.
func (c column) gated(x, u string) {
	c.w.op("VMOVUPS %s, %s", x, c.x())
	c.sigmoid()
	c.w.op("VMULPS %s, %s, %s", u, c.p(), c.p())
}

// sweep512 is the body of each sweep for one vector. DI dst, SI x, DX u, AX index.
var sweep512 = map[string]func(c column){
	"siluMul": func(c column) {
		c.w.op("VMOVUPS %s, %s", c.at("SI"), c.x())
		c.silu()
		c.w.op("VMULPS %s, %s, %s", c.at("DX"), c.p(), c.p())
		c.store()
	},
	"sigmoidMul": func(c column) {
		c.gated(c.at("SI"), c.at("DX"))
		c.store()
	},
	"addGated": func(c column) {
		c.gated(c.at("SI"), c.at("DX"))
		c.w.op("VADDPS %s, %s, %s", c.at("DI"), c.p(), c.p())
		c.store()
	},
	"siluScale": func(c column) {
		c.w.op("VMULPS %s, Z30, %s", c.at("DI"), c.x())
		c.silu()
		c.store()
	},
	"expShift": func(c column) {
		c.w.op("VMOVUPS %s, %s", c.at("DI"), c.x())
		c.w.op("VSUBPS Z30, %s, %s", c.x(), c.x())
		c.exp()
		c.store()
	},
	"addScaled": func(c column) {
		c.w.op("VMULPS %s, Z30, %s", c.at("SI"), c.p())
		c.w.op("VADDPS %s, %s, %s", c.at("DI"), c.p(), c.p())
		c.store()
	},
}

// abreast writes the operations of n columns, step by step.
func abreast(w *writer, n int, body func(c column)) {
	steps := make([][]string, n)
	for i := range steps {
		own := new(writer)
		body(column{own, i})
		steps[i] = strings.SplitAfter(own.String(), "\n")
	}
	for s := range steps[0] {
		for i := range steps {
			w.WriteString(steps[i][s])
		}
	}
}

// loop512 walks AX over CX elements, a multiple of 16, sideBySide vectors at a time and then one.
func loop512(w *writer, body func(c column)) {
	w.op("XORL AX, AX")
	w.op("MOVQ CX, BX")
	w.op("ANDQ $%d, BX", -16*sideBySide)
	w.op("JEQ rest")
	w.label("loop")
	abreast(w, sideBySide, body)
	w.op("ADDQ $%d, AX", 16*sideBySide)
	w.op("CMPQ AX, BX")
	w.op("JLT loop")
	w.label("rest")
	w.op("CMPQ AX, CX")
	w.op("JGE done")
	w.label("one")
	abreast(w, 1, body)
	w.op("ADDQ $16, AX")
	w.op("CMPQ AX, CX")
	w.op("JLT one")
	w.label("done")
	w.op("VZEROUPPER")
	w.op("RET")
}

func sweepAssembly512() string {
	w := new(writer)
	w.WriteString(header + "#include \"textflag.h\"\n#include \"go_asm.h\"\n")
	for _, k := range sweeps {
		k.open(w, avx512, 16, "Z30")
		if k.sigma {
			consts512(w)
		}
		loop512(w, sweep512[k.name])
	}
	mix512(w)
	conv512(w)
	route512(w)
	decay512(w)
	return w.String()
}

// mix512 is MixStreams of four streams, which are done side by side.
func mix512(w *writer) {
	w.WriteString("\n// func mixAVX512(a *mixArgs)\n// u = (sum over four streams, ascending, of sigmoid(m) * z) * scale.\n" +
		"TEXT ·mixAVX512(SB), NOSPLIT, $0-8\n")
	consts512(w)
	w.op("MOVQ a+0(FP), BX")
	w.op("MOVQ mixArgs_u(BX), DI")
	w.op("MOVQ mixArgs_m(BX), SI")
	w.op("MOVQ mixArgs_z(BX), DX")
	w.op("MOVQ mixArgs_mStep(BX), R9")
	w.op("MOVQ mixArgs_zStep(BX), R11")
	w.op("MOVQ mixArgs_n(BX), CX")
	w.op("VBROADCASTSS mixArgs_scale(BX), Z30")
	w.op("LEAQ (R9)(R9*2), R10")
	w.op("LEAQ (R11)(R11*2), R12")
	w.label("loop")
	abreast(w, 4, func(c column) {
		place := func(base, step, thrice string) string {
			return "(" + base + ")" + [4]string{"", "(" + step + "*1)", "(" + step + "*2)", "(" + thrice + "*1)"}[c.i]
		}
		c.gated(place("SI", "R9", "R10"), place("DX", "R11", "R12"))
	})
	sum := column{w, 0}.p()
	for i := 1; i < 4; i++ {
		w.op("VADDPS %s, %s, %s", column{w, i}.p(), sum, sum)
	}
	w.op("VMULPS Z30, %s, %s", sum, sum)
	w.op("VMOVUPS %s, (DI)", sum)
	for _, r := range []string{"SI", "DX", "DI"} {
		w.op("ADDQ $64, %s", r)
	}
	w.op("SUBQ $16, CX")
	w.op("JNZ loop")
	w.op("VZEROUPPER")
	w.op("RET")
}

// conv512 is a convolution of four taps with its silu.
func conv512(w *writer) {
	w.WriteString("\n// func conv4AVX512(y, x0, x1, x2, x3, w *float32, taps, n int)\n" +
		"// y = silu(((w0*x0 + w1*x1) + w2*x2) + w3*x3), every product and sum rounded; tap j's weights are taps bytes after tap j-1's; n is a\n" +
		"// positive multiple of 16.\nTEXT ·conv4AVX512(SB), NOSPLIT, $0-64\n")
	consts512(w)
	taps := []string{"R8", "R9", "R10", "R11"}
	w.op("MOVQ y+0(FP), DI")
	for j, r := range taps {
		w.op("MOVQ x%d+%d(FP), %s", j, 8+8*j, r)
	}
	weights := []string{"SI", "DX", "R12", "R13"}
	w.op("MOVQ w+40(FP), SI")
	w.op("MOVQ taps+48(FP), R13")
	w.op("MOVQ n+56(FP), CX")
	w.op("LEAQ (SI)(R13*1), DX")
	w.op("LEAQ (SI)(R13*2), R12")
	w.op("LEAQ (DX)(R13*2), R13")
	loop512(w, func(c column) {
		for j := range taps {
			to := c.p()
			if j == 0 {
				to = c.x()
			}
			w := c.w
			w.op("VMOVUPS %s, %s", c.at(weights[j]), to)
			w.op("VMULPS %s, %s, %s", c.at(taps[j]), to, to)
			if j > 0 {
				w.op("VADDPS %s, %s, %s", to, c.x(), c.x())
			}
		}
		c.silu()
		c.store()
	})
}

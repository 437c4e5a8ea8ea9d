package main

import (
	"fmt"
	"strings"
)

// fastArm is the kernels of precision Fast for one instruction set of arm64.
type fastArm struct {
	name   string
	rows   int
	kernel func(w *arm, l lay, rows int)
}

var (
	dotFast  = fastArm{"DotProd", 4, fastDot}
	wideFast = fastArm{"NEON", 3, fastWide}
)

func (s fastArm) kernelName(l lay, rows int) string {
	return fmt.Sprintf("fast%sx%d%s", layNames[l], rows, s.name)
}

func fastArmKernels(s fastArm) string {
	w := armFile()
	if s.name == wideFast.name {
		prepareFastNEON(w)
	}
	for _, l := range []lay{q8, q4} {
		for r := 1; r <= s.rows; r++ {
			w.begin(s.kernelName(l, r), "a *kernelArgs", 8, fmt.Sprintf("%s weights, rows of x of 8 bits: %d.", layNames[l], r))
			s.kernel(w, l, r)
		}
	}
	return w.String()
}

func fastArmDeclarations() string {
	var b strings.Builder
	b.WriteString(header + "package cpu\n\nimport \"unsafe\"\n")
	b.WriteString("\n//go:noescape\nfunc prepareFastNEON(dst unsafe.Pointer, x *float32, k, group int)\n")
	for _, s := range []fastArm{dotFast, wideFast} {
		writeFast(&b, s.name, s.rows, s.kernelName)
	}
	return b.String()
}

// endFast adds a block to y. With few registers a row's y is in memory (held).
func (k *fixedNEON) endFast() {
	for r := range k.rows {
		k.op("SUB R26, %s, R17", rowReg(r))
		k.op("FMOVQ (R17), F%d", k.heads[r])
	}
	v1 := k.radix // free here: products
	for v := range k.part {
		k.op("FMOVQ %d(R2), F%d", 16*v, k.scale)
		k.shr(16, k.scale, k.bias)
		k.shl(16, k.bias, k.bias)
		k.shl(16, k.scale, k.scale)
		for r := range k.rows {
			sum, head := k.sum(r, 0, v), k.heads[r]
			k.enc(scvtf, sum, sum)
			k.enc(fmulE, v1, k.bias, head, fastSum/4)
			k.fmla(k.scale, sum, v1)
			if k.held() {
				k.enc(fmlaE, k.y(r, v), v1, head, fastScale/4)
				continue
			}
			k.op("FMOVQ %d(%s), F%d", 16*v, k.yReg(r), sum)
			k.enc(fmlaE, sum, v1, head, fastScale/4)
			k.op("FMOVQ F%d, %d(%s)", sum, 16*v, k.yReg(r))
		}
	}
	k.op("ADD $64, R2, R2")
}

// fastDot writes a kernel with the dot product, which multiplies signed bytes: codes of eight bits lose 128, and their sums start from
// what that takes away. V0..V23 are sums and y, V24.. codes, then digits.
func fastDot(w *arm, l lay, rows int) {
	k := &fixedNEON{arm: w, l: l, rows: rows, part: partOf(rows, 2), digits: 1, heads: []int{24, 28, 29, 30}, radix: 25, scale: 26, bias: 27}
	const codes, center = 24, 31 // 128, which is subtracted, or the mask of four-bit codes
	nibble := codes + k.part     // of four-bit codes
	digits := nibble             // of the row in hand
	if l == q4 {
		digits++
	}
	k.loadKernelArgs()
	w.op("VMOVI $%d, V%d.B16", map[lay]int{q8: 128, q4: 15}[l], center)
	begin := func(r int) {
		if l == q8 {
			w.op("ADD $%d, %s, R17", fastBase, rowReg(r))
			w.op("VLD1R (R17), [V%d.S4]", k.sum(r, 0, 0))
			for v := 1; v < k.part; v++ {
				w.op("VORR V%d.B16, V%d.B16, V%d.B16", k.sum(r, 0, 0), k.sum(r, 0, 0), k.sum(r, 0, v))
			}
		} else {
			w.each(k.part, func(v int) { w.zero(k.sum(r, 0, v)) })
		}
		w.op("ADD $%d, %s, %s", fastHead, rowReg(r), rowReg(r))
	}
	// quad multiplies four columns, whose codes lie in consecutive registers from first on.
	quad := func(signed func(v int) int) {
		if l == q8 {
			w.each(k.part, func(v int) { signed(v) })
			for r := range rows {
				w.op("FMOVS.P 4(%s), F%d", rowReg(r), digits)
				w.each(k.part, func(v int) { w.enc(sdotE, k.sum(r, 0, v), codes+v, digits, 0) })
			}
			return
		}
		for r := range rows {
			w.op("FMOVS.P 4(%s), F%d", rowReg(r), digits)
			w.each(k.part, func(v int) { w.enc(sdotE, k.sum(r, 0, v), signed(v), digits, 0) })
		}
	}
	k.around(fastHead, 2, begin, func() {
		if l == q4 {
			w.op("LSR $1, R5, R5")
		}
		w.label("columns")
		w.values(codes, k.part)
		if l == q8 {
			quad(func(v int) int {
				w.op("VSUB V%d.B16, V%d.B16, V%d.B16", center, codes+v, codes+v)
				return codes + v
			})
		} else {
			quad(func(v int) int {
				w.and(center, codes+v, nibble)
				return nibble
			})
			w.each(k.part, func(v int) { w.op("VUSHR $4, V%d.B16, V%d.B16", codes+v, codes+v) })
			quad(func(v int) int { return codes + v })
		}
		w.down("R5", "columns")
	}, k.endFast)
}

// fastWide writes a kernel for machines without the dot product: codes and digits widened to 16 bits; digits, as multipliers by element,
// have to be in V0..V15. V0.. digits, V3 codes of 8 outputs and a column, V4..V7 those of four columns, which the load pulls apart;
// V8.. sums and y.
func fastWide(w *arm, l lay, rows int) {
	k := &fixedNEON{arm: w, l: l, rows: rows, part: 4, digits: 1, first: 8, heads: []int{0, 1, 2}, radix: 3, scale: 4, bias: 5}
	const wide, codes = 3, 4
	k.loadKernelArgs()
	begin := func(r int) {
		w.op("ADD $%d, %s, %s", fastHead, rowReg(r), rowReg(r))
		w.each(4, func(v int) { w.zero(k.sum(r, 0, v)) })
	}
	// quad multiplies four columns; nibble takes what belongs to them from the widened codes.
	quad := func(nibble func()) {
		for r := range rows {
			w.op("FMOVS.P 4(%s), F%d", rowReg(r), r)
			w.enc(sxtl, r, r)
		}
		for j := range 4 {
			for half := range 2 {
				if half == 0 {
					w.op("VUXTL V%d.B8, V%d.H8", codes+j, wide)
				} else {
					w.op("VUXTL2 V%d.B16, V%d.H8", codes+j, wide)
				}
				nibble()
				for r := range rows {
					w.enc(smlalE, k.sum(r, 0, 2*half), wide, r, j)
					w.enc(smlal2, k.sum(r, 0, 2*half+1), wide, r, j)
				}
			}
		}
	}
	k.around(fastHead, 2, begin, func() {
		if l == q4 {
			w.op("LSR $1, R5, R5")
		}
		w.label("columns")
		if l == q8 {
			w.op("VLD4.P 64(R1), %s", list(codes, 4, "B16"))
			quad(func() {})
		} else {
			w.op("VLD4 (R1), %s", list(codes, 4, "B16"))
			quad(func() { w.enc(bich, wide, 0xf0) })
			w.op("ADD $64, R1, R1")
			quad(func() { w.op("VUSHR $4, V%d.H8, V%d.H8", wide, wide) })
		}
		w.down("R5", "columns")
	}, k.endFast)
}

// prepareFastNEON writes prepareFast in assembly. R0 dst, R1 x, R2 columns left, R3 columns of a block, R5 counter, R6 scratch, R7 bits
// of the largest |x|, R9 scale, R12 the head. V2 127/m, V4 sums of digits, V28 the mask of a sign's complement, F29 127.
func prepareFastNEON(w *arm) {
	w.begin("prepareFastNEON", "dst unsafe.Pointer, x *float32, k, group int", 32, "k is a positive multiple of group, which is one of 4.")
	w.args("dst+0", "R0", "x+8", "R1", "k+16", "R2", "group+24", "R3")
	w.op("MOVD $0x7fffffff, R6")
	w.op("VDUP R6, V28.S4")
	w.op("MOVD $0x42fe0000, R6") // fastTop
	w.op("FMOVS R6, F29")
	w.label("block")
	w.op("MOVD R1, R6")
	w.op("LSR $2, R3, R5")
	w.zero(0)
	w.label("top")
	w.load("R6", 1, 1)
	w.and(28, 1, 1)
	w.op("VUMAX V1.S4, V0.S4, V0.S4")
	w.down("R5", "top")
	w.enc(umaxv, 0, 0)
	w.op("FMOVS F0, R7")
	w.op("MOVD R0, R12")
	w.op("ADD $%d, R0, R0", fastHead)
	w.op("LSR $2, R3, R5")
	w.zero(4)
	w.op("MOVD $0x7f800000, R6")
	w.op("CMP R6, R7")
	w.op("BHS bad")
	w.op("MOVD $0x0d800000, R6") // fastFloor
	w.op("CMP R6, R7")
	w.op("CSEL LO, R6, R7, R7")
	w.op("FMOVS R7, F0")
	w.op("FDIVS F29, F0, F1")
	w.op("FMOVS F1, R9")
	w.op("FDIVS F0, F29, F2")
	w.dup(2, 0, 2)
	w.label("digits")
	w.load("R1", 1, 1)
	w.enc(fmul, 1, 1, 2)
	w.enc(fcvtns, 1, 1)
	w.add(1, 4, 4)
	w.op("VUZP1 V1.H8, V1.H8, V3.H8")
	w.op("VUZP1 V3.B16, V3.B16, V3.B16")
	w.op("FMOVS.P F3, 4(R0)")
	w.down("R5", "digits")
	w.label("head")
	w.op("VADDV V4.S4, V4")
	w.op("VMOV V4.S[0], R6")
	w.op("SCVTFWS R6, F1")
	w.op("LSL $7, R6, R6")
	w.op("MOVW R9, %d(R12)", fastScale)
	w.op("FMOVS F1, %d(R12)", fastSum)
	w.op("MOVW R6, %d(R12)", fastBase)
	w.op("SUBS R3, R2, R2")
	w.op("BNE block")
	w.op("RET")
	w.label("bad")
	w.op("MOVW.P ZR, 4(R0)")
	w.op("ADD $16, R1, R1")
	w.down("R5", "bad")
	w.op("MOVD $0x7fc00000, R9")
	w.op("B head")
}

package main

// Kernels of plain weights. A tile's 16 outputs are four vectors; a pass over the tile's columns takes 4, 2 or 1 of them (a part),
// so that the sums of all rows fit in registers: V0..V23 sums ((row*4 + chain)*part + vector), V24.. weights, then one vector
// of x per row, whose elements are the multipliers of four columns. V31 is the mask of the high half of bf16 pairs.
//
// General registers of all kernels of weights: R0 arguments, R1 weights, R2 scales and biases, R3 y, R4 tiles left, R5 counts
// columns, R8.. rows of x, R14 64, R15 bytes from row to row of y, R19 where this part's weights begin, R20 parts left.

// partOf is how many vectors of outputs one pass takes: as many as leave each its own sums, `sums` to a vector and row.
func partOf(rows, sums int) int {
	for p := 4; p > 1; p /= 2 {
		if p*rows*sums <= 24 {
			return p
		}
	}
	return 1
}

// loadKernelArgs reads what all kernels of weights need.
func (w *arm) loadKernelArgs() {
	w.args("a+0", "R0")
	w.op("MOVD kernelArgs_w(R0), R1")
	w.op("MOVD kernelArgs_y(R0), R3")
	w.op("MOVD kernelArgs_tiles(R0), R4")
	w.op("MOVD kernelArgs_yStride(R0), R15")
	w.op("MOVD $64, R14")
}

// rowReg holds the address in row r of x.
func rowReg(r int) string { return []string{"R8", "R9", "R10", "R11", "R12", "R13"}[r] }

// loadRows goes to the beginning of the rows of x.
func (w *arm) loadRows(rows int) {
	for r := range rows {
		w.op("MOVD kernelArgs_x+%d(R0), %s", 8*r, rowReg(r))
	}
}

// values reads the part's registers from v on of 16 outputs and moves on by all of them.
func (w *arm) values(v, part int) { w.op("VLD1.P (R1)(R14), %s", list(v, part, "S4")) }

// nextPart goes on to the next part of the tile or to the next tile, and jumps to label while there is one. pointers are registers
// that went through what belongs to a part, each followed by one that holds where it began.
func (w *arm) nextPart(part int, label string, pointers ...string) {
	if part < 4 {
		w.op("SUBS $1, R20, R20")
		w.op("BEQ whole")
		for i := 0; i < len(pointers); i += 2 {
			w.op("ADD $%d, %s, %s", 16*part, pointers[i+1], pointers[i])
		}
		w.op("B %s", label)
		w.label("whole")
		for i := 0; i < len(pointers); i += 2 {
			w.op("SUB $%d, %s, %s", 64-16*part, pointers[i], pointers[i])
		}
		w.op("MOVD $%d, R20", 4/part)
	}
	w.down("R4", label)
	w.op("RET")
}

func linearNEON(w *arm, l lay, rows int) {
	part := partOf(rows, 4)
	k := plainNEON{w, l, rows, part, 24 + 2*part}
	if part == 4 {
		k.x = 30
	}
	w.loadKernelArgs()
	if part < 4 {
		w.op("MOVD $%d, R20", 4/part)
	}
	if k.masked() {
		w.op("VMOVI $255, V31.B16")
		w.shl(16, 31, 31)
	}
	w.label("tile")
	w.op("MOVD R1, R19")
	w.loadRows(rows)
	w.each(rows*4*part, w.zero)
	w.op("MOVD kernelArgs_k(R0), R5")
	w.op("LSR $2, R5, R5")
	w.op("CBZ R5, tail")
	w.label("four")
	for r := range rows {
		w.load(rowReg(r), k.x+r, 1)
	}
	k.columns(4)
	w.down("R5", "four")
	w.label("tail")
	w.op("MOVD kernelArgs_k(R0), R5")
	w.op("ANDS $3, R5, R5")
	w.op("BEQ done")
	w.op("CMP $2, R5")
	w.op("BEQ two")
	w.op("BGT three")
	k.columns(1)
	w.op("B done")
	w.label("two")
	k.columns(2)
	w.op("B done")
	w.label("three")
	k.columns(3)
	w.label("done")
	w.op("MOVD R3, R7")
	for r := range rows {
		for v := range part {
			a := func(chain int) int { return k.sum(r, chain, v) }
			w.enc(fadd, a(0), a(0), a(1))
			w.enc(fadd, a(2), a(2), a(3))
			w.enc(fadd, a(0), a(0), a(2))
		}
		w.op("VST1 %s, (R7)", list(k.sum(r, 0, 0), part, "S4"))
		if r < rows-1 {
			w.op("ADD R15, R7, R7")
		}
	}
	w.op("ADD $%d, R3, R3", 16*part)
	w.nextPart(part, "tile", "R1", "R19")
}

// plainNEON is one kernel of plain weights.
type plainNEON struct {
	*arm
	l          lay
	rows, part int
	x          int // register of row 0's x
}

// masked says whether V31 is the mask: six rows need it for x.
func (k plainNEON) masked() bool { return k.l == bf16 && k.x+k.rows <= 31 }

func (k plainNEON) sum(r, chain, v int) int { return (r*4+chain)*k.part + v }

// columns multiplies the next n columns. The x of four are elements of one register each; those of a tail are read one by one.
func (k plainNEON) columns(n int) {
	for j := range n {
		element := j
		if n < 4 {
			element = 0
			for r := range k.rows {
				k.op("FMOVS.P 4(%s), F%d", rowReg(r), k.x+r)
			}
		}
		y := k.weights(j)
		for r := range k.rows {
			for v := range k.part {
				k.enc(fmlaE, k.sum(r, j, v), y+v, k.x+r, element)
			}
		}
	}
}

// weights leaves column j of the next ones in registers, whose first it returns.
func (k plainNEON) weights(j int) int {
	const raw = 24
	if k.l == f32 {
		k.values(raw, k.part)
		return raw
	}
	if j%2 == 0 {
		k.values(raw, k.part)
		for v := range k.part {
			k.shl(16, raw+v, k.even()+v)
		}
		return k.even()
	}
	for v := range k.part {
		if k.masked() {
			k.and(raw+v, 31, raw+v)
		} else {
			k.shr(16, raw+v, raw+v)
			k.shl(16, raw+v, raw+v)
		}
	}
	return raw
}

// even is where the even columns of bf16 weights go.
func (k plainNEON) even() int {
	if k.part == 4 {
		return 20 // one row has 16 sums
	}
	return 24 + k.part
}

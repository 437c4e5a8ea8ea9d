package main

// Kernels of affine weights. Both kinds keep the sums of each row, digit and vector of outputs in registers, and y too where
// there is room: otherwise y is summed in memory.
//
// General registers besides those of neon_linear.go: R16 end of row 0, R17 scratch, R21 where this part's scales begin, R22.. y of
// the rows, R26 bytes of a block.
type fixedNEON struct {
	*arm
	l          lay
	rows, part int
	digits     int   // sums to a vector and row: the lowest digit's comes first, the highest's last
	first      int   // register of the first sum, ((row*digits + digit)*part + vector) before the others
	heads      []int // registers for the rows' heads at either end of a block, when those of the loop are free,
	scale      int   // and for scale,
	bias       int   // bias + c*scale,
	radix      int   // and c and 256 side by side
}

func (k *fixedNEON) sum(r, digit, v int) int { return k.first + (r*k.digits+digit)*k.part + v }
func (k *fixedNEON) held() bool              { return (k.digits+1)*k.part*k.rows <= 24 }
func (k *fixedNEON) y(r, v int) int          { return k.sum(k.rows, 0, 0) + r*k.part + v }
func (k *fixedNEON) yReg(r int) string       { return []string{"R22", "R23", "R24", "R25"}[r] }

// write is the kernel around its loop over the columns of a block, of which R5 has the number of quads. begin starts the sums of a
// row and takes it past the head.
func (k *fixedNEON) write(begin func(r int), loop func()) { k.around(headSize, 4, begin, loop, k.end) }

// around is write for heads of any size, 2^quad bytes of digits to a quad, and any end of a block.
func (k *fixedNEON) around(head, quad int, begin func(r int), loop, end func()) {
	k.op("MOVD kernelArgs_sb(R0), R2")
	k.op("MOVD kernelArgs_digits(R0), R26")
	k.op("ADD $%d, R26, R26", head)
	if k.part < 4 {
		k.op("MOVD $%d, R20", 4/k.part)
	}
	k.label("tile")
	k.op("MOVD R1, R19")
	k.op("MOVD R2, R21")
	k.loadRows(k.rows)
	k.op("MOVD kernelArgs_row(R0), R16")
	k.op("ADD R8, R16, R16")
	k.op("MOVD R3, %s", k.yReg(0))
	for r := 1; r < k.rows; r++ {
		k.op("ADD R15, %s, %s", k.yReg(r-1), k.yReg(r))
	}
	if k.held() {
		k.each(k.rows*k.part, func(v int) { k.zero(k.y(0, v)) })
	} else {
		k.each(k.part, func(v int) { k.zero(k.first + v) })
		for r := range k.rows {
			k.op("VST1 %s, (%s)", list(k.first, k.part, "S4"), k.yReg(r))
		}
	}
	k.label("block")
	k.each(k.rows, begin)
	k.op("SUB $%d, R26, R5", head)
	k.op("LSR $%d, R5, R5", quad)
	loop()
	end()
	k.op("CMP R16, R8")
	k.op("BLO block")
	if k.held() {
		for r := range k.rows {
			k.op("VST1 %s, (%s)", list(k.y(r, 0), k.part, "S4"), k.yReg(r))
		}
	}
	k.op("ADD $%d, R3, R3", 16*k.part)
	k.nextPart(k.part, "tile", "R1", "R19", "R2", "R21")
}

// end adds a block to y.
func (k *fixedNEON) end() {
	k.op("FMOVD kernelArgs_center(R0), F%d", k.radix) // and radix, which follows
	for r := range k.rows {
		k.op("SUB R26, %s, R17", rowReg(r))
		k.op("FMOVQ (R17), F%d", k.heads[r])
	}
	for v := range k.part {
		k.op("FMOVQ %d(R2), F%d", 16*v, k.scale)
		k.shr(16, k.scale, k.bias)
		k.shl(16, k.bias, k.bias)
		k.shl(16, k.scale, k.scale)
		k.enc(fmlaE, k.bias, k.scale, k.radix, 0)
		for r := range k.rows {
			high, low, head := k.sum(r, k.digits-1, v), k.sum(r, 0, v), k.heads[r]
			if k.digits == 3 {
				k.shl(8, high, high)
				k.add(k.sum(r, 1, v), high, high)
			}
			k.enc(scvtf, high, high)
			k.enc(scvtf, low, low)
			k.enc(fmlaE, low, high, k.radix, 1)
			k.enc(fmulE, high, k.bias, head, headSum/4)
			k.fmla(k.scale, low, high)
			if k.held() {
				k.enc(fmlaE, k.y(r, v), high, head, headScale/4)
				continue
			}
			k.op("FMOVQ %d(%s), F%d", 16*v, k.yReg(r), low)
			k.enc(fmlaE, low, high, head, headScale/4)
			k.op("FMOVQ F%d, %d(%s)", low, 16*v, k.yReg(r))
		}
	}
	k.op("ADD $64, R2, R2")
}

// fixedDot writes a kernel with the dot product: codes times the digits of prepareBytes, of which one load has four columns of
// a row, low, middle and high digits in its words 0 to 2. V0..V23 are sums and y, V24.. codes, then digits. Codes of eight bits have to
// lose c to be signed, so their sums start from 0; those of four-bit codes start from what the head has.
func fixedDot(w *arm, l lay, rows int) {
	k := &fixedNEON{arm: w, l: l, rows: rows, part: partOf(rows, 3), digits: 3, heads: []int{24, 28, 29, 30}, radix: 25, scale: 26, bias: 27}
	const codes, center = 24, 31 // c, which is subtracted, or the mask of four-bit codes
	nibble := codes + k.part     // of four-bit codes
	digits := nibble + 1         // of row 0
	k.loadKernelArgs()
	if l == q8 {
		w.op("FMOVS kernelArgs_center(R0), F%d", center)
		w.op("FCVTZSSW F%d, R7", center)
		w.op("VDUP R7, V%d.B16", center)
	} else {
		w.op("VMOVI $15, V%d.B16", center)
	}
	begin := func(r int) {
		if l == q8 {
			w.op("ADD $%d, %s, %s", headSize, rowReg(r), rowReg(r))
			w.each(3*k.part, func(v int) { w.zero(k.sum(r, 0, v)) })
			return
		}
		w.load(rowReg(r), k.heads[r], 1)
		for v := range k.part {
			w.dup(k.heads[r], headLow/4, k.sum(r, 0, v))
			w.dup(k.heads[r], headHigh/4, k.sum(r, 1, v))
			w.zero(k.sum(r, 2, v))
		}
	}
	// quad multiplies four columns, of which signed gives the register with the codes of a vector of outputs.
	quad := func(signed func(v int) int) {
		for r := range rows {
			w.load(rowReg(r), digits+r, 1)
		}
		for v := range k.part {
			c := signed(v)
			for r := range rows {
				for d := range 3 {
					w.enc(sdotE, k.sum(r, d, v), c, digits+r, d)
				}
			}
		}
	}
	k.write(begin, func() {
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
			quad(func(v int) int {
				w.op("VUSHR $4, V%d.B16, V%d.B16", codes+v, codes+v)
				return codes + v
			})
		}
		w.down("R5", "columns")
	})
}

// fixedWide writes a kernel for machines without the dot product: codes widened to 16 bits times the digits of prepareWords, which
// as multipliers by element have to be in V0..V15. V0.. digits, V3 codes of 8 outputs and a column, V4..V7 those of four columns, which
// the load pulls apart; V8.. sums and y.
func fixedWide(w *arm, l lay, rows int) {
	k := &fixedNEON{arm: w, l: l, rows: rows, part: 4, digits: 2, first: 8, heads: []int{0, 1, 2}, radix: 3, scale: 4, bias: 5}
	const wide, codes = 3, 4
	k.loadKernelArgs()
	begin := func(r int) {
		w.load(rowReg(r), k.heads[r], 1)
		for v := range 4 {
			w.dup(k.heads[r], headLow/4, k.sum(r, 0, v))
			w.dup(k.heads[r], headHigh/4, k.sum(r, 1, v))
		}
	}
	// quad multiplies four columns; nibble takes what belongs to them from the widened codes.
	quad := func(nibble func()) {
		for r := range rows {
			w.load(rowReg(r), r, 1)
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
					for d := range 2 {
						at := []int{4, 0}[d] + j // the low digits are the last four words
						w.enc(smlalE, k.sum(r, d, 2*half), wide, r, at)
						w.enc(smlal2, k.sum(r, d, 2*half+1), wide, r, at)
					}
				}
			}
		}
	}
	k.write(begin, func() {
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
	})
}

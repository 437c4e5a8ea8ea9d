package main

// Kernels of affine weights, the fixed point of package cpu's fixed.go. General registers: BX arguments, SI codes, DI scales
// and biases, DX y, CX tiles left, R8.. the prepared rows, AX byte offset in them, R14 that of the block's head, R15 end of the
// block's digits. (R14 is the goroutine of ABIInternal code, which the wrapper of an ABI0 function restores.)

// ahead is how many bytes before their use the weights are fetched: the hardware's own prefetch ends at each page, and a
// tile is about one page long.
const ahead = 4096

// head is the offsets in a fixedHead.
const (
	headScale = 0
	headSum   = 4
	headHigh  = 8
	headLow   = 12
	headSize  = 16
)

// blocks writes the loop over blocks and, inside, over pairs of quads (eight columns); with odd also a last quad alone.
func blocks(w *writer, prefix string, odd bool, begin func(), quads func(n int), end func()) {
	w.op("XORL AX, AX")
	w.label(prefix + "block")
	w.op("MOVQ AX, R14")
	begin()
	w.op("ADDQ $%d, AX", headSize)
	w.op("MOVQ AX, R15")
	w.op("ADDQ kernelArgs_digits(BX), R15")
	if odd {
		w.op("SUBQ $16, R15")
		w.op("CMPQ AX, R15")
		w.op("JGE %sone", prefix)
	}
	w.label(prefix + "two")
	quads(2)
	w.op("ADDQ $32, AX")
	w.op("CMPQ AX, R15")
	w.op("JLT %stwo", prefix)
	if odd {
		w.label(prefix + "one")
		w.op("JGT %send", prefix)
		quads(1)
		w.op("ADDQ $16, AX")
		w.label(prefix + "end")
	}
	end()
	w.op("CMPQ AX, kernelArgs_row(BX)")
	w.op("JLT %sblock", prefix)
}

// Vector registers of the AVX-512 VNNI kernels: Z(3r) to Z(3r+2) the sums of row r's three digits, low to high (one row:
// Z3..Z5 are those of the second quad), Z18.. y, Z24 and Z25 codes, Z26 scale, Z27 bias + c*scale, Z28 256, Z29 c,
// Z31 mask of a nibble.
func fixed512(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	w.op("VBROADCASTSS kernelArgs_radix(BX), Z28")
	w.op("VBROADCASTSS kernelArgs_center(BX), Z29")
	if l == q4 {
		w.op("MOVL $0x0f0f0f0f, AX")
		w.op("VPBROADCASTD AX, Z31")
	}
	sets := 1
	if rows == 1 {
		sets = 2
	}
	w.label("tile")
	for r := range rows {
		w.op("VPXORD Z%d, Z%d, Z%d", 18+r, 18+r, 18+r)
	}
	blocks(w, "", l == q8, func() {
		for r := range rows {
			w.op("VPBROADCASTD %d(%s)(AX*1), Z%d", headLow, xReg[r], 3*r)
			w.op("VPBROADCASTD %d(%s)(AX*1), Z%d", headHigh, xReg[r], 3*r+1)
			w.op("VPXORD Z%d, Z%d, Z%d", 3*r+2, 3*r+2, 3*r+2)
		}
		if sets == 2 {
			for z := 3; z < 6; z++ {
				w.op("VPXORD Z%d, Z%d, Z%d", z, z, z)
			}
		}
	}, func(n int) {
		if l == q4 {
			w.op("VMOVDQU32 (SI), Z25")
			w.op("PREFETCHT0 %d(SI)", ahead)
			w.op("VPANDD Z25, Z31, Z24")
			w.op("VPSRLW $4, Z25, Z25")
			w.op("VPANDD Z25, Z31, Z25")
			w.op("ADDQ $64, SI")
		} else {
			for j := range n {
				w.op("VMOVDQU32 %d(SI), Z%d", 64*j, 24+j)
				w.op("PREFETCHT0 %d(SI)", 64*j+ahead)
			}
			w.op("ADDQ $%d, SI", 64*n)
		}
		for j := range n {
			for r := range rows {
				for d := range 3 {
					w.op("VPDPBUSD.BCST %d(%s)(AX*1), Z%d, Z%d", 16*j+4*d, xReg[r], 24+j, 3*r+d+3*(j%sets))
				}
			}
		}
	}, func() {
		w.op("VPSLLD $16, (DI), Z26")
		w.op("VPSRLD $16, (DI), Z27")
		w.op("VPSLLD $16, Z27, Z27")
		w.op("VFMADD231PS Z29, Z26, Z27")
		w.op("ADDQ $64, DI")
		if sets == 2 {
			for d := range 3 {
				w.op("VPADDD Z%d, Z%d, Z%d", 3+d, d, d)
			}
		}
		for r := range rows {
			low, mid, high := 3*r, 3*r+1, 3*r+2
			w.op("VPSLLD $8, Z%d, Z%d", high, high)
			w.op("VPADDD Z%d, Z%d, Z%d", mid, high, high)
			w.op("VCVTDQ2PS Z%d, Z%d", high, high)
			w.op("VCVTDQ2PS Z%d, Z%d", low, low)
			w.op("VFMADD231PS Z28, Z%d, Z%d", high, low)
			w.op("VMULPS.BCST %d(%s)(R14*1), Z27, Z%d", headSum, xReg[r], mid)
			w.op("VFMADD231PS Z26, Z%d, Z%d", low, mid)
			w.op("VFMADD231PS.BCST %d(%s)(R14*1), Z%d, Z%d", headScale, xReg[r], mid, 18+r)
		}
	})
	w.op("MOVQ DX, R15")
	for r := range rows {
		w.op("VMOVUPS Z%d, (R15)", 18+r)
		if r < rows-1 {
			w.op("ADDQ kernelArgs_yStride(BX), R15")
		}
	}
	w.op("ADDQ $64, DX")
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
}

// Vector registers of the AVX2 kernels, which do half a tile (8 outputs) after the other: Y(4r) to Y(4r+3) sums of row r,
// of H for the outputs 0..3 and 4..7, then of L, two partial sums an output; Y12 and Y15 codes as words, Y13 digits, Y14 products.
// y is summed in memory.
func fixed256(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	w.label("tile")
	w.op("MOVQ SI, R11")
	w.op("MOVQ DI, R12")
	half256(w, l, rows, 0)
	w.op("MOVQ R11, SI")
	w.op("MOVQ R12, DI")
	half256(w, l, rows, 1)
	w.op("ADDQ $64, DX")
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
}

func half256(w *writer, l lay, rows, half int) {
	eachRow := func(f func(r int)) {
		w.op("MOVQ DX, R13")
		for r := range rows {
			f(r)
			if r < rows-1 {
				w.op("ADDQ kernelArgs_yStride(BX), R13")
			}
		}
	}
	w.op("VPXOR Y12, Y12, Y12")
	eachRow(func(int) { w.op("VMOVUPS Y12, %d(R13)", 32*half) })
	blocks(w, []string{"low", "high"}[half], l == q8, func() {
		for z := range 4 * rows {
			w.op("VPXOR Y%d, Y%d, Y%d", z, z, z)
		}
	}, func(n int) {
		for j := range n {
			at := 64*j + 32*half
			if l == q4 {
				at = 32 * half
			}
			w.op("VPMOVZXBW %d(SI), Y12", at)
			w.op("VPMOVZXBW %d(SI), Y15", at+16)
			if l == q4 {
				for _, y := range []int{12, 15} {
					if j == 0 {
						w.op("VPSLLW $12, Y%d, Y%d", y, y)
						w.op("VPSRLW $12, Y%d, Y%d", y, y)
					} else {
						w.op("VPSRLW $4, Y%d, Y%d", y, y)
					}
				}
			}
			for r := range rows {
				for d := range 2 {
					w.op("VPBROADCASTQ %d(%s)(AX*1), Y13", 16*j+8*d, xReg[r])
					w.op("VPMADDWD Y12, Y13, Y14")
					w.op("VPADDD Y14, Y%d, Y%d", 4*r+2*d, 4*r+2*d)
					w.op("VPMADDWD Y15, Y13, Y14")
					w.op("VPADDD Y14, Y%d, Y%d", 4*r+2*d+1, 4*r+2*d+1)
				}
			}
		}
		if l == q4 {
			w.op("ADDQ $64, SI")
		} else {
			w.op("ADDQ $%d, SI", 64*n)
		}
	}, func() {
		w.op("VMOVDQU %d(DI), Y12", 32*half)
		w.op("ADDQ $64, DI")
		w.op("VPSRLD $16, Y12, Y13")
		w.op("VPSLLD $16, Y13, Y13")
		w.op("VPSLLD $16, Y12, Y12")
		w.op("VBROADCASTSS kernelArgs_center(BX), Y14")
		w.op("VFMADD231PS Y14, Y12, Y13")
		eachRow(func(r int) {
			h, u := 4*r, 4*r+2
			for i, y := range []int{h, u} {
				w.op("VPHADDD Y%d, Y%d, Y%d", y+1, y, y)
				w.op("VPERMQ $0xd8, Y%d, Y%d", y, y)
				w.op("VPBROADCASTD %d(%s)(R14*1), Y14", headHigh+4*i, xReg[r])
				w.op("VPADDD Y14, Y%d, Y%d", y, y)
				w.op("VCVTDQ2PS Y%d, Y%d", y, y)
			}
			w.op("VBROADCASTSS kernelArgs_radix(BX), Y14")
			w.op("VFMADD231PS Y14, Y%d, Y%d", h, u)
			w.op("VBROADCASTSS %d(%s)(R14*1), Y14", headSum, xReg[r])
			w.op("VMULPS Y14, Y13, Y14")
			w.op("VFMADD231PS Y12, Y%d, Y14", u)
			w.op("VBROADCASTSS %d(%s)(R14*1), Y%d", headScale, xReg[r], h)
			w.op("VMOVUPS %d(R13), Y15", 32*half)
			w.op("VFMADD231PS Y%d, Y14, Y15", h)
			w.op("VMOVUPS Y15, %d(R13)", 32*half)
		})
	})
}

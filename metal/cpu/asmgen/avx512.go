package main

// Vector registers of the AVX-512 kernels: Z0..Z23 accumulators (row*4 + chain), Z24..Z27 the weights of four columns,
// Z31 mask of the high half.

func masks512(w *writer, l lay) {
	if l != f32 {
		w.op("MOVL $0xffff0000, AX")
		w.op("VPBROADCASTD AX, Z31")
	}
}

// weights512 leaves column j of the next four in Z(24+j).
func weights512(w *writer, l lay, j int) {
	z := 24 + j
	switch l {
	case f32:
		w.op("VMOVUPS %d(SI), Z%d", 64*j, z)
	case bf16:
		if j%2 == 0 {
			w.op("VPSLLD $16, %d(SI), Z%d", 64*(j/2), z)
		} else {
			w.op("VPANDD %d(SI), Z31, Z%d", 64*(j/2), z)
		}
	}
}

func linear512(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	masks512(w, l)
	w.label("tile")
	for a := range rows * 4 {
		w.op("VPXORD Z%d, Z%d, Z%d", a, a, a)
	}
	loopK(w, "", func(n int) {
		for j := range n {
			weights512(w, l, j)
			for r := range rows {
				w.op("VFMADD231PS.BCST %d(%s)(AX*4), Z%d, Z%d", 4*j, xReg[r], 24+j, r*4+j)
			}
		}
		if n == 4 {
			for b := 0; b < l.stride(n); b += 64 {
				w.op("PREFETCHT0 %d(SI)", b+ahead)
			}
		}
		w.op("ADDQ $%d, SI", l.stride(n))
	})
	w.op("MOVQ DX, R15")
	for r := range rows {
		a := r * 4
		w.op("VADDPS Z%d, Z%d, Z%d", a+1, a, a)
		w.op("VADDPS Z%d, Z%d, Z%d", a+3, a+2, a+2)
		w.op("VADDPS Z%d, Z%d, Z%d", a+2, a, a)
		w.op("VMOVUPS Z%d, (R15)", a)
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

func expand512(w *writer, l lay) {
	loadArgs(w, l, 0)
	masks512(w, l)
	loopK(w, "", func(n int) {
		for j := range n {
			weights512(w, l, j)
			w.op("VMOVUPS Z%d, %d(DX)", 24+j, 64*j)
		}
		w.op("ADDQ $%d, SI", l.stride(n))
		w.op("ADDQ $%d, DX", 64*n)
	})
	w.op("VZEROUPPER")
	w.op("RET")
}

// narrow512 multiplies by a matrix of four outputs at most: lane 4n+j of a row's accumulator Z(r) is chain j of output n, so one instruction
// does four columns. Z24 weights, Z25 four values of x four times, Z26 scratch.
func narrow512(w *writer, rows int) {
	loadArgs(w, bf16, rows)
	w.op("MOVL $0x1111, AX")
	w.op("KMOVW AX, K1")
	for r := range rows {
		w.op("VPXORD Z%d, Z%d, Z%d", r, r, r)
	}
	w.op("XORL AX, AX")
	w.op("MOVQ kernelArgs_k(BX), R15")
	w.label("four")
	w.op("VPMOVZXWD (SI), Z24")
	w.op("VPSLLD $16, Z24, Z24")
	for r := range rows {
		w.op("VBROADCASTF32X4 (%s)(AX*4), Z25", xReg[r])
		w.op("VFMADD231PS Z25, Z24, Z%d", r)
	}
	w.op("ADDQ $32, SI")
	w.op("ADDQ $4, AX")
	w.op("CMPQ AX, R15")
	w.op("JLT four")
	for r := range rows {
		w.op("VPERMILPS $0xb1, Z%d, Z26", r)
		w.op("VADDPS Z26, Z%d, Z%d", r, r)
		w.op("VPERMILPS $0x4e, Z%d, Z26", r)
		w.op("VADDPS Z26, Z%d, Z%d", r, r)
		w.op("VCOMPRESSPS.Z Z%d, K1, Z26", r)
		w.op("VMOVUPS X26, (DX)")
		if r < rows-1 {
			w.op("ADDQ kernelArgs_yStride(BX), DX")
		}
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

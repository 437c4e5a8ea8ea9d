package main

// Vector registers of the AVX2 kernels. A tile is two halves of 8 outputs. One row: both halves at once, accumulators
// Y0..Y7 (half*4 + chain), Y12 and Y13 weights, Y14 x.
// More rows: one half after the other, accumulators Y0..Y11 (row*4 + chain), Y12 weights, Y13 x.
// Y15 is the mask of the high half of bf16 pairs.

func mask256(w *writer, l lay) {
	if l == bf16 {
		w.op("VPCMPEQD Y15, Y15, Y15")
		w.op("VPSLLD $16, Y15, Y15")
	}
}

// weights256 leaves 8 values of column j of the next four in register y; half is 0 or 1.
func weights256(w *writer, l lay, j, half, y int) {
	switch l {
	case f32:
		w.op("VMOVUPS %d(SI), Y%d", 64*j+32*half, y)
	case bf16:
		if j%2 == 0 {
			w.op("VMOVDQU %d(SI), Y%d", 64*(j/2)+32*half, y)
			w.op("VPSLLD $16, Y%d, Y%d", y, y)
		} else {
			w.op("VPAND %d(SI), Y15, Y%d", 64*(j/2)+32*half, y)
		}
	}
}

// add256 sums four chains into the first and stores it.
func add256(w *writer, a int, to string) {
	w.op("VADDPS Y%d, Y%d, Y%d", a+1, a, a)
	w.op("VADDPS Y%d, Y%d, Y%d", a+3, a+2, a+2)
	w.op("VADDPS Y%d, Y%d, Y%d", a+2, a, a)
	w.op("VMOVUPS Y%d, %s", a, to)
}

func linear256(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	mask256(w, l)
	w.label("tile")
	if rows == 1 {
		row256(w, l)
	} else {
		w.op("MOVQ SI, R11")
		plain256(w, l, rows, 0)
		w.op("MOVQ R11, SI")
		plain256(w, l, rows, 1)
	}
	w.op("ADDQ $64, DX")
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
}

// row256 is one tile for one row.
func row256(w *writer, l lay) {
	for a := range 8 {
		w.op("VXORPS Y%d, Y%d, Y%d", a, a, a)
	}
	loopK(w, "", func(n int) {
		for j := range n {
			weights256(w, l, j, 0, 12)
			weights256(w, l, j, 1, 13)
			w.op("VBROADCASTSS %d(R8)(AX*4), Y14", 4*j)
			w.op("VFMADD231PS Y14, Y12, Y%d", j)
			w.op("VFMADD231PS Y14, Y13, Y%d", 4+j)
		}
		w.op("ADDQ $%d, SI", l.stride(n))
	})
	add256(w, 0, "(DX)")
	add256(w, 4, "32(DX)")
}

// plain256 is half a tile for two or three rows.
func plain256(w *writer, l lay, rows, half int) {
	for a := range rows * 4 {
		w.op("VXORPS Y%d, Y%d, Y%d", a, a, a)
	}
	loopK(w, []string{"low", "high"}[half], func(n int) {
		for j := range n {
			weights256(w, l, j, half, 12)
			for r := range rows {
				w.op("VBROADCASTSS %d(%s)(AX*4), Y13", 4*j, xReg[r])
				w.op("VFMADD231PS Y13, Y12, Y%d", r*4+j)
			}
		}
		w.op("ADDQ $%d, SI", l.stride(n))
	})
	w.op("MOVQ DX, R15")
	for r := range rows {
		add256(w, r*4, []string{"(R15)", "32(R15)"}[half])
		if r < rows-1 {
			w.op("ADDQ kernelArgs_yStride(BX), R15")
		}
	}
}

func expand256(w *writer, l lay) {
	loadArgs(w, l, 0)
	mask256(w, l)
	loopK(w, "", func(n int) {
		for j := range n {
			for half := range 2 {
				weights256(w, l, j, half, 12)
				w.op("VMOVUPS Y12, %d(DX)", 64*j+32*half)
			}
		}
		w.op("ADDQ $%d, SI", l.stride(n))
		w.op("ADDQ $%d, DX", 64*n)
	})
	w.op("VZEROUPPER")
	w.op("RET")
}

package main

import (
	"fmt"
	"strings"
)

// Kernels of affine weights in precision Fast, the 8-bit activations of package cpu's fast.go. General registers as in
// fixed.go; R15 is the last place in a block's digits from which a whole turn of the loop fits.

// fastHead is the offsets in a fastHead.
const (
	fastScale = 0
	fastSum   = 4
	fastBase  = 8
	fastHead  = 12
)

// turn is the columns that a turn of the loop takes; those that are left go one by one, in pairs of quads for q4.
const turn = 16

// fastBlocks writes the loop over blocks and, inside, over their columns.
func fastBlocks(w *writer, l lay, prefix string, begin func(), columns func(n int), end func()) {
	least := 4
	if l == q4 {
		least = 8
	}
	w.op("XORL AX, AX")
	w.label(prefix + "block")
	w.op("MOVQ AX, R14")
	begin()
	w.op("ADDQ $%d, AX", fastHead)
	w.op("MOVQ AX, R15")
	w.op("ADDQ kernelArgs_digits(BX), R15")
	w.op("SUBQ $%d, R15", turn)
	w.op("CMPQ AX, R15")
	w.op("JGT %srest", prefix)
	w.label(prefix + "turn")
	columns(turn)
	w.op("ADDQ $%d, AX", turn)
	w.op("CMPQ AX, R15")
	w.op("JLE %sturn", prefix)
	w.label(prefix + "rest")
	w.op("ADDQ $%d, R15", turn)
	w.op("CMPQ AX, R15")
	w.op("JGE %send", prefix)
	w.label(prefix + "few")
	columns(least)
	w.op("ADDQ $%d, AX", least)
	w.op("CMPQ AX, R15")
	w.op("JLT %sfew", prefix)
	w.label(prefix + "end")
	end()
	w.op("CMPQ AX, kernelArgs_row(BX)")
	w.op("JLT %sblock", prefix)
}

// Vector registers of the AVX-512 VNNI kernels: Z0.. sums, with few rows several to a row, which do not wait for
// each other; Z16 product of bias and sum, Z17 mask of a bias, Z18.. y, Z24 to Z27 codes, Z28 scale, Z29 bias, Z31 mask of a nibble.
func fast512(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	w.op("MOVL $0xffff0000, AX")
	w.op("VPBROADCASTD AX, Z17")
	if l == q4 {
		w.op("MOVL $0x0f0f0f0f, AX")
		w.op("VPBROADCASTD AX, Z31")
	}
	sets := []int{4, 2, 2, 1, 1, 1}[rows-1]
	w.label("tile")
	for r := range rows {
		w.op("VPXORD Z%d, Z%d, Z%d", 18+r, 18+r, 18+r)
	}
	fastBlocks(w, l, "", func() {
		for z := range rows * sets {
			w.op("VPXORD Z%d, Z%d, Z%d", z, z, z)
		}
	}, func(n int) {
		bytes := 16 * n
		if l == q4 {
			bytes = 8 * n
		}
		for at := 0; at < bytes; at += 64 {
			w.op("PREFETCHT0 %d(SI)", at+ahead)
		}
		for j := range n / 4 {
			switch {
			case l == q8:
				w.op("VMOVDQU32 %d(SI), Z%d", 64*j, 24+j)
			case j%2 == 0:
				w.op("VMOVDQU32 %d(SI), Z%d", 32*j, 24+j+1)
				w.op("VPANDD Z%d, Z31, Z%d", 24+j+1, 24+j)
			default:
				w.op("VPSRLW $4, Z%d, Z%d", 24+j, 24+j)
				w.op("VPANDD Z%d, Z31, Z%d", 24+j, 24+j)
			}
			for r := range rows {
				w.op("VPDPBUSD.BCST %d(%s)(AX*1), Z%d, Z%d", 4*j, xReg[r], 24+j, r*sets+j%sets)
			}
		}
		w.op("ADDQ $%d, SI", bytes)
	}, func() {
		w.op("VPSLLD $16, (DI), Z28")
		w.op("VPANDD (DI), Z17, Z29")
		w.op("ADDQ $64, DI")
		for step := sets / 2; step > 0; step /= 2 {
			for r := range rows {
				for i := range step {
					w.op("VPADDD Z%d, Z%d, Z%d", r*sets+step+i, r*sets+i, r*sets+i)
				}
			}
		}
		for r := range rows {
			w.op("VCVTDQ2PS Z%d, Z%d", r*sets, r*sets)
			w.op("VMULPS.BCST %d(%s)(R14*1), Z29, Z16", fastSum, xReg[r])
			w.op("VFMADD231PS Z28, Z%d, Z16", r*sets)
			w.op("VFMADD231PS.BCST %d(%s)(R14*1), Z16, Z%d", fastScale, xReg[r], 18+r)
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

// Vector registers of the AVX2 kernels, which do half a tile (8 outputs) after the other: Y0.. sums, Y4.. y, Y8 codes, Y9 their
// absolute values, Y10 and Y11 scratch, Y13 ones, Y14 bytes of 0x80 or 0x0f, Y15 four-bit codes of two quads. VPMADDUBSW takes an
// unsigned and a signed factor and adds pairs in 16 bits, which 2*255*127 overflows and 2*128*127 does not: codes of 8 bits lose 128 and
// give their sign to the digit.
func fast256(w *writer, l lay, rows int) {
	loadArgs(w, l, rows)
	w.op("VPCMPEQW Y13, Y13, Y13")
	w.op("VPSRLW $15, Y13, Y13")
	w.op("MOVL $%s, AX", map[lay]string{q8: "0x80808080", q4: "0x0f0f0f0f"}[l])
	w.op("VMOVD AX, X14")
	w.op("VPBROADCASTD X14, Y14")
	w.label("tile")
	w.op("MOVQ SI, R12")
	w.op("MOVQ DI, R13")
	fastHalf256(w, l, rows, 0)
	w.op("MOVQ R12, SI")
	w.op("MOVQ R13, DI")
	fastHalf256(w, l, rows, 1)
	w.op("ADDQ $64, DX")
	w.op("DECQ CX")
	w.op("JNZ tile")
	w.op("VZEROUPPER")
	w.op("RET")
}

func fastHalf256(w *writer, l lay, rows, half int) {
	for r := range rows {
		w.op("VXORPS Y%d, Y%d, Y%d", 4+r, 4+r, 4+r)
	}
	fastBlocks(w, l, []string{"low", "high"}[half], func() {
		for r := range rows {
			if l == q8 {
				w.op("VPBROADCASTD %d(%s)(R14*1), Y%d", fastBase, xReg[r], r)
			} else {
				w.op("VPXOR Y%d, Y%d, Y%d", r, r, r)
			}
		}
	}, func(n int) {
		for j := range n / 4 {
			switch {
			case l == q8:
				w.op("VPXOR %d(SI), Y14, Y8", 64*j+32*half)
				w.op("VPABSB Y8, Y9")
			case j%2 == 0:
				w.op("VMOVDQU %d(SI), Y15", 32*j+32*half)
				w.op("VPAND Y15, Y14, Y9")
			default:
				w.op("VPSRLW $4, Y15, Y15")
				w.op("VPAND Y15, Y14, Y9")
			}
			for r := range rows {
				w.op("VPBROADCASTD %d(%s)(AX*1), Y10", 4*j, xReg[r])
				if l == q8 {
					w.op("VPSIGNB Y8, Y10, Y10")
				}
				w.op("VPMADDUBSW Y10, Y9, Y10")
				w.op("VPMADDWD Y10, Y13, Y10")
				w.op("VPADDD Y10, Y%d, Y%d", r, r)
			}
		}
		if l == q4 {
			w.op("ADDQ $%d, SI", 8*n)
		} else {
			w.op("ADDQ $%d, SI", 16*n)
		}
	}, func() {
		w.op("VMOVDQU %d(DI), Y8", 32*half)
		w.op("ADDQ $64, DI")
		w.op("VPSRLD $16, Y8, Y9")
		w.op("VPSLLD $16, Y9, Y9")
		w.op("VPSLLD $16, Y8, Y8")
		for r := range rows {
			w.op("VCVTDQ2PS Y%d, Y%d", r, r)
			w.op("VBROADCASTSS %d(%s)(R14*1), Y10", fastSum, xReg[r])
			w.op("VMULPS Y10, Y9, Y10")
			w.op("VFMADD231PS Y8, Y%d, Y10", r)
			w.op("VBROADCASTSS %d(%s)(R14*1), Y11", fastScale, xReg[r])
			w.op("VFMADD231PS Y11, Y10, Y%d", 4+r)
		}
	})
	w.op("MOVQ DX, R15")
	for r := range rows {
		w.op("VMOVUPS Y%d, %d(R15)", 4+r, 32*half)
		if r < rows-1 {
			w.op("ADDQ kernelArgs_yStride(BX), R15")
		}
	}
}

// fastSet is the kernels of precision Fast for one instruction set of amd64.
type fastSet struct {
	name   string
	rows   int
	kernel func(w *writer, l lay, rows int)
}

var fastSets = []fastSet{{"AVX512", 6, fast512}, {"AVX2", 4, fast256}}

func (s fastSet) kernelName(l lay, rows int) string {
	return fmt.Sprintf("fast%sx%d%s", layNames[l], rows, s.name)
}

func fastAssembly(s fastSet) string {
	w := new(writer)
	w.WriteString(header + "#include \"textflag.h\"\n#include \"go_asm.h\"\n")
	for _, l := range []lay{q8, q4} {
		for r := 1; r <= s.rows; r++ {
			w.text(s.kernelName(l, r), fmt.Sprintf("%s weights, rows of x of 8 bits: %d.", layNames[l], r))
			s.kernel(w, l, r)
		}
	}
	return w.String()
}

func fastDeclarations() string {
	var b strings.Builder
	b.WriteString(header + "package cpu\n")
	for _, s := range fastSets {
		writeFast(&b, s.name, s.rows, s.kernelName)
	}
	return b.String()
}

// writeFast declares the kernels of a set and the variable that lists them.
func writeFast(b *strings.Builder, name string, rows int, kernel func(l lay, rows int) string) {
	for _, l := range []lay{q8, q4} {
		for r := 1; r <= rows; r++ {
			fmt.Fprintf(b, "\n//go:noescape\nfunc %s(a *kernelArgs)\n", kernel(l, r))
		}
	}
	fmt.Fprintf(b, "\n// fast%s fills in the kernels of affine weights in precision Fast.\nfunc fast%s(s *kernelSet) {\n", name, name)
	for _, l := range []lay{q8, q4} {
		names := make([]string, rows)
		for r := range names {
			names[r] = kernel(l, r+1)
		}
		fmt.Fprintf(b, "\ts.rows[lay%s] = %d\n", layNames[l], rows)
		fmt.Fprintf(b, "\ts.linear[lay%s] = [maxRows]func(*kernelArgs){%s}\n", layNames[l], strings.Join(names, ", "))
	}
	b.WriteString("}\n")
}

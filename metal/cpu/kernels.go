package cpu

import "unsafe"

// maxRows is the most rows of x one kernel call takes.
const maxRows = 6

// kernelArgs is one call of a Linear kernel: consecutive tiles of one matrix times a few rows. Assembly reads it by the
// names in go_asm.h.
type kernelArgs struct {
	w       unsafe.Pointer // values of the first tile
	sb      unsafe.Pointer // its scales and biases
	y       unsafe.Pointer // row 0: 16*tiles outputs
	yStride uintptr        // bytes from row to row of y
	k       int            // inner size
	group   int            // quantisation group, divides k
	digits  int            // affine weights: bytes of a group's digits in a prepared row
	row     int            // affine weights: bytes of a prepared row
	tiles   int
	rows    int
	x       [maxRows]unsafe.Pointer // rows of x, k values each; affine weights: prepared (fixed.go)
	center  float32                 // affine weights: c of fixed.go
	radix   float32                 // and 256
}

// kernelSet is the inner loops for one instruction set. All sets give the same bits: for each output element of a plain
// weight (f32, bf16, f16)
//
//	c_j = fma(w[n,k], x[k], c_j)   for k = j mod 4 ascending, from c_j = +0, j = 0..3
//	y   = (c_0 + c_1) + (c_2 + c_3)
//
// in f32; the sum of an affine weight (q8, q4) is in fixed.go, or in fast.go once makeFast was called.
type kernelSet struct {
	name string
	fast bool
	// rows[layout] is the number of rows that share one pass over the weights; 0: the set has no kernels for it, only allowed of layNarrow.
	rows [layouts]int
	// wide[layout] is the number of rows from which on it pays to expand a tile to f32 once; 0: never.
	wide [layouts]int

	// linear[layout][rows-1] multiplies; it writes whole tiles.
	linear [layouts][maxRows]func(*kernelArgs)
	// expand[layout] writes the f32 values [k][16] of one tile to y; plain layouts only.
	expand [layouts]func(*kernelArgs)
	// prepare writes a row for the affine kernels of this set, in blocks of group columns (fixed.go, fast.go).
	prepare func(dst unsafe.Pointer, x []float32, group int, center int32)

	// toFast puts the affine kernels of precision Fast in the place of those of Exact.
	toFast func(*kernelSet)

	sweeps
}

// makeFast turns the set into that of precision Fast.
func (s *kernelSet) makeFast() {
	s.toFast(s)
	s.fast = true
}

// digits is the bytes that a block of so many columns takes in a prepared row, behind its head.
func (s *kernelSet) digits(group int) int {
	if s.fast {
		return group
	}
	return 4 * group
}

// rowBytes is the size of a prepared row of k columns in blocks of group.
func (s *kernelSet) rowBytes(k, group int) int {
	if s.fast {
		return fastBytes(k, group)
	}
	return fixedBytes(k, group)
}

// goKernels is the portable set: the oracle of the others, and what runs where there is no assembly.
func goKernels() *kernelSet {
	s := &kernelSet{name: "go", sweeps: goSweeps(), wide: [layouts]int{layBF16: maxRows + 1}, prepare: prepareWords, toFast: fastGo}
	for l := range layouts {
		if l == layNarrow {
			continue // four columns side by side gain nothing here
		}
		s.rows[l] = maxRows
		for r := range maxRows {
			if l.affine() {
				s.linear[l][r] = func(a *kernelArgs) { goFixed(a, l) }
				continue
			}
			s.linear[l][r] = func(a *kernelArgs) { goLinear(a, l) }
		}
		if l.affine() {
			continue
		}
		s.expand[l] = func(a *kernelArgs) {
			out := unsafe.Slice((*[tileN]float32)(a.y), a.k)
			for k := range out {
				decode(a, l, 0, k, &out[k])
			}
		}
	}
	return s
}

// fastGo fills in the portable kernels of affine weights in precision Fast.
func fastGo(s *kernelSet) {
	s.prepare = prepareFast
	for _, l := range []layout{layQ8, layQ4} {
		s.rows[l] = maxRows
		for r := range maxRows {
			s.linear[l][r] = func(a *kernelArgs) { goFast(a, l) }
		}
	}
}

func goLinear(a *kernelArgs, l layout) {
	for t := range a.tiles {
		var acc [maxRows][4][tileN]float32
		var w [tileN]float32
		for k := range a.k {
			decode(a, l, t, k, &w)
			for r := range a.rows {
				x := *(*float32)(unsafe.Add(a.x[r], k*4))
				c := &acc[r][k&3]
				for i := range c {
					c[i] = fma32(w[i], x, c[i])
				}
			}
		}
		for r := range a.rows {
			y := (*[tileN]float32)(unsafe.Add(a.y, uintptr(r)*a.yStride+uintptr(t)*tileN*4))
			c := &acc[r]
			for i := range y {
				y[i] = (c[0][i] + c[1][i]) + (c[2][i] + c[3][i])
			}
		}
	}
}

// decode gives the 16 values of column k of a tile.
func decode(a *kernelArgs, l layout, tile, k int, w *[tileN]float32) {
	if l == layF32 {
		*w = *(*[tileN]float32)(unsafe.Add(a.w, (tile*a.k+k)*tileN*4))
		return
	}
	v := (*[tileN]uint32)(unsafe.Add(a.w, tile*layBF16.tileBytes(a.k)+k/2*tileN*4))
	for i, u := range v {
		w[i] = bf16(u >> (k & 1 * 16))
	}
}

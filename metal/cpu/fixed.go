package cpu

import (
	"math"
	"unsafe"
)

// Products with affine weights are done in fixed point: exactly, in integers, inside a block. Block g of a row x is the
// columns of quantisation group g. With m the largest |x[k]| of the block and 2^e the power of two that brings m into
// [2^22, 2^23) or just below it,
//
//	X_k = round-half-even(x[k] * 2^e)       |X_k| <= 0x7f7f7f; split into X = 256*H + L, L in -128..127
//	T, U = sum_k (q[n,k]-c)*H_k, sum_k (q[n,k]-c)*L_k      exact; c = 128 (8-bit codes) or 8 (4-bit)
//	f = fma(float(T), 256, float(U))
//	v = fma(scale, f, round(fma(c, scale, bias) * float(sum_k X_k)))
//	y = fma(v, 2^-e, y)                     blocks ascending, from y = +0
//
// So activations stay f32, of which 22 to 23 bits below the largest of the block count, products and sums inside a block
// lose nothing, and one addition a block rounds. Against f64 the error is 0.5 to 2.3 times that of the f32 chain of plain
// weights (TestFixedError). Integers leave the order of a block's sum to the instruction set: VNNI multiplies 64 codes at
// a time without converting them, which is 1.3 times as many products as FMA at best, and 3 times for a single row.
//
// A block with a NaN or an infinity makes every output of its row NaN.
const (
	fixedBlock = 256      // columns of a block at most: T then fits 31 bits
	fixedRound = 0x010200 // added to m's bits: from 1.9921 * 2^n on, the next power of two is taken
	fixedFloor = 23       // smallest biased exponent used, so that 2^-e is a normal number
)

// fixedHead begins each block of a prepared row; the digits of its columns follow, 16 bytes for every four columns.
type fixedHead struct {
	scale float32 // 2^-e; NaN if the block has a value that is not finite
	sum   float32 // sum of X
	high  int32   // -c * sum of H
	low   int32   // -c * sum of L
}

const fixedHeadSize = 16

// fixedBytes is the size of a prepared row of k columns in blocks of group.
func fixedBytes(k, group int) int { return 4*k + k/group*fixedHeadSize }

// fixedScale is 2^e and 2^-e for a block whose largest |x| has bits top.
func fixedScale(top uint32) (up, down float32) {
	e := max((top+fixedRound)>>23, fixedFloor)
	return math.Float32frombits((276 - e) << 23), math.Float32frombits((e - 22) << 23)
}

// prepareWords writes a prepared row with the digits of four columns as four H and four L, 16 bits each.
func prepareWords(dst unsafe.Pointer, x []float32, group int, center int32) {
	prepareRow(dst, x, group, center, func(q *[16]byte, j int, h, l int32) {
		w := (*[8]int16)(unsafe.Pointer(q))
		w[j], w[4+j] = int16(h), int16(l)
	})
}

// prepareBytes writes a prepared row with the digits of four columns as four bytes of L, then of H's low and high digit:
// X = L + 256*(M + 256*N), all three in -128..127.
func prepareBytes(dst unsafe.Pointer, x []float32, group int, center int32) {
	prepareRow(dst, x, group, center, func(q *[16]byte, j int, h, l int32) {
		m := int32(int8(h))
		q[j], q[4+j], q[8+j], q[12+j] = byte(l), byte(m), byte((h-m)>>8), 0
	})
}

func prepareRow(dst unsafe.Pointer, x []float32, group int, center int32, put func(q *[16]byte, j int, h, l int32)) {
	for len(x) > 0 {
		var top uint32
		for _, v := range x[:group] {
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		head := (*fixedHead)(dst)
		digits := unsafe.Slice((*[16]byte)(unsafe.Add(dst, fixedHeadSize)), group/4)
		up, down := fixedScale(top)
		var high, low int32
		for k, v := range x[:group] {
			var n int32
			if top < 0x7f800000 {
				n = int32(math.RoundToEven(float64(v * up)))
			}
			l := int32(int8(n))
			h := (n - l) >> 8
			high, low = high+h, low+l
			put(&digits[k/4], k%4, h, l)
		}
		*head = fixedHead{scale: down, sum: float32(high*256 + low), high: -center * high, low: -center * low}
		if top >= 0x7f800000 {
			head.scale = float32(math.NaN())
		}
		dst = unsafe.Add(dst, fixedHeadSize+4*group)
		x = x[group:]
	}
}

// goFixed is the portable kernel; its prepared rows are prepareWords'.
func goFixed(a *kernelArgs, l layout) {
	for t := range a.tiles {
		var y [maxRows][tileN]float32
		at := uintptr(0)
		for g := range a.k / a.group {
			sb := (*[tileN]uint32)(unsafe.Add(a.sb, (t*(a.k/a.group)+g)*tileN*4))
			for r := range a.rows {
				head := (*fixedHead)(unsafe.Add(a.x[r], at))
				var high, low [tileN]int32
				for k := range a.group {
					var q [tileN]uint8
					codes(a, l, t, g*a.group+k, &q)
					d := (*[8]int16)(unsafe.Add(a.x[r], at+fixedHeadSize+uintptr(k/4*16)))
					h, lo := int32(d[k%4]), int32(d[4+k%4])
					for i, c := range q {
						high[i] += int32(c) * h
						low[i] += int32(c) * lo
					}
				}
				for i, u := range sb {
					scale, bias := bf16(u), bf16(u>>16)
					f := fma32(float32(high[i]+head.high), 256, float32(low[i]+head.low))
					v := fma32(scale, f, float32(fma32(a.center, scale, bias)*head.sum))
					y[r][i] = fma32(v, head.scale, y[r][i])
				}
			}
			at += uintptr(fixedHeadSize + 4*a.group)
		}
		for r := range a.rows {
			*(*[tileN]float32)(unsafe.Add(a.y, uintptr(r)*a.yStride+uintptr(t)*tileN*4)) = y[r]
		}
	}
}

// codes gives the 16 codes of column k of a tile.
func codes(a *kernelArgs, l layout, tile, k int, q *[tileN]uint8) {
	if l == layQ8 {
		w := (*[tileN * 4]uint8)(unsafe.Add(a.w, tile*l.tileBytes(a.k)+k/4*tileN*4))
		for i := range q {
			q[i] = w[i*4+k%4]
		}
		return
	}
	w := (*[tileN * 4]uint8)(unsafe.Add(a.w, tile*l.tileBytes(a.k)+k/8*tileN*4))
	for i := range q {
		q[i] = w[i*4+k%4] >> (k / 4 % 2 * 4) & 15
	}
}

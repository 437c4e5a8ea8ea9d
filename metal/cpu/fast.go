package cpu

import (
	"math"
	"unsafe"
)

// Products with affine weights in precision Fast. Block g of a row x is the columns of quantisation group g, as in fixed.go.
// With m the largest |x[k]| of the block (fastFloor if that is more),
//
//	D_k = round-half-even(x[k] * (127/m))                  |D_k| <= 127, one byte
//	T, S = sum_k q[n,k]*D_k, sum_k D_k                     exact, in integers
//	v = fma(scale, float(T), round(bias*float(S)))
//	y = fma(v, m/127, y)                                   blocks ascending, from y = +0
//
// in f32, divisions and products rounded once each. T stays below 2^24, so that it is exact as f32 too. The sum may therefore be
// taken in any order and any instruction set, and a row's bits depend on that row alone; what is lost is the rounding to D.
//
// A block with a NaN or an infinity makes every output of its row NaN.
const (
	fastTop   = 127
	fastFloor = 0x1p-100 // keeps 127/m finite
)

// fastHead begins each block of a prepared row; the block's D follow, a byte each.
type fastHead struct {
	scale float32 // m/127; NaN if the block has a value that is not finite
	sum   float32 // S
	base  int32   // 128*S, what T lacks if codes of 8 bits are taken as signed numbers
}

const fastHeadSize = 12

// fastBytes is the size of a prepared row of k columns in blocks of group.
func fastBytes(k, group int) int { return k + k/group*fastHeadSize }

// prepareFast writes a prepared row. The weight's c has no part in it.
func prepareFast(dst unsafe.Pointer, x []float32, group int, _ int32) {
	for len(x) > 0 {
		var top uint32
		for _, v := range x[:group] {
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		head := (*fastHead)(dst)
		digits := unsafe.Slice((*int8)(unsafe.Add(dst, fastHeadSize)), group)
		if top >= 0x7f800000 {
			clear(digits)
			*head = fastHead{scale: float32(math.NaN())}
		} else {
			m := max(math.Float32frombits(top), fastFloor)
			up, sum := fastTop/m, int32(0)
			for k, v := range x[:group] {
				digits[k] = int8(math.RoundToEven(float64(v * up)))
				sum += int32(digits[k])
			}
			*head = fastHead{scale: m / fastTop, sum: float32(sum), base: 128 * sum}
		}
		dst = unsafe.Add(dst, fastHeadSize+group)
		x = x[group:]
	}
}

// goFast is the portable kernel.
func goFast(a *kernelArgs, l layout) {
	for t := range a.tiles {
		var y [maxRows][tileN]float32
		at := uintptr(0)
		for g := range a.k / a.group {
			sb := (*[tileN]uint32)(unsafe.Add(a.sb, (t*(a.k/a.group)+g)*tileN*4))
			for r := range a.rows {
				head := (*fastHead)(unsafe.Add(a.x[r], at))
				digits := unsafe.Slice((*int8)(unsafe.Add(a.x[r], at+fastHeadSize)), a.group)
				var sums [tileN]int32
				for k, d := range digits {
					var q [tileN]uint8
					codes(a, l, t, g*a.group+k, &q)
					for i, c := range q {
						sums[i] += int32(c) * int32(d)
					}
				}
				for i, u := range sb {
					v := fma32(bf16(u), float32(sums[i]), float32(bf16(u>>16)*head.sum))
					y[r][i] = fma32(v, head.scale, y[r][i])
				}
			}
			at += uintptr(fastHeadSize + a.group)
		}
		for r := range a.rows {
			*(*[tileN]float32)(unsafe.Add(a.y, uintptr(r)*a.yStride+uintptr(t)*tileN*4)) = y[r]
		}
	}
}

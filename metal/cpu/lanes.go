package cpu

import "math"

// The lane rule: a sum over n elements is kept in 16 lanes, lane l taking the elements i with i mod 16 = l in ascending
// order, starting from 0; the lanes are then added as a fixed tree, l and l+8, then l and l+4, l and l+2, l and l+1.
// It is the order a 16-wide register gives for free, and two 8-wide or four 4-wide ones as well.

// sumTree adds 16 lanes by the fixed tree.
func sumTree(a *[16]float32) float32 {
	b0, b1, b2, b3 := a[0]+a[8], a[1]+a[9], a[2]+a[10], a[3]+a[11]
	b4, b5, b6, b7 := a[4]+a[12], a[5]+a[13], a[6]+a[14], a[7]+a[15]
	return ((b0 + b4) + (b2 + b6)) + ((b1 + b5) + (b3 + b7))
}

// laneSquares is the sum of x[i]^2 by the lane rule, products rounded.
func laneSquares(k simd, x []float32) float32 {
	var acc [16]float32
	x = x[headSquares(k, &acc, x):]
	for len(x) >= 16 {
		v := (*[16]float32)(x)
		for l := range acc {
			acc[l] += float32(v[l] * v[l])
		}
		x = x[16:]
	}
	for l, v := range x {
		acc[l] += float32(v * v)
	}
	return sumTree(&acc)
}

// laneSum is the sum of x by the lane rule.
func laneSum(x []float32) float32 {
	var acc [16]float32
	for len(x) >= 16 {
		v := (*[16]float32)(x)
		for l := range acc {
			acc[l] += v[l]
		}
		x = x[16:]
	}
	for l, v := range x {
		acc[l] += v
	}
	return sumTree(&acc)
}

// laneDot is <a, b> by the lane rule, products rounded.
func laneDot(k simd, a, b []float32) float32 {
	b = b[:len(a)]
	var acc [16]float32
	n := headDot(k, &acc, a, b)
	a, b = a[n:], b[n:]
	for len(a) >= 16 && len(b) >= 16 {
		v, w := (*[16]float32)(a), (*[16]float32)(b)
		for l := range acc {
			acc[l] += float32(v[l] * w[l])
		}
		a, b = a[16:], b[16:]
	}
	for l, v := range a {
		acc[l] += float32(v * b[l])
	}
	return sumTree(&acc)
}

// laneDotFused is <a, b> by the lane rule with fused multiply-add: acc = fma(a[i], b[i], acc). Only Select and Attend use it.
func laneDotFused(k simd, a, b []float32) float32 {
	b = b[:len(a)]
	var acc [16]float32
	n := headDotFused(k, &acc, a, b)
	a, b = a[n:], b[n:]
	for len(a) >= 16 && len(b) >= 16 {
		v, w := (*[16]float32)(a), (*[16]float32)(b)
		for l := range acc {
			acc[l] = fma32(v[l], w[l], acc[l])
		}
		a, b = a[16:], b[16:]
	}
	for l, v := range a {
		acc[l] = fma32(v, b[l], acc[l])
	}
	return sumTree(&acc)
}

// sqrt32 is the square root rounded to f32 (through f64 it is exact, whatever the machine).
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// largest is the maximum of x, -Inf if there is none; a NaN is passed over. The order of comparisons does not matter.
func largest(k simd, x []float32) float32 {
	top, n := headLargest(k, x)
	for _, v := range x[n:] {
		if v > top {
			top = v
		}
	}
	return top
}

// largestLane is headLargest by lanes.
func largestLane(k simd, x []float32) (top float32, n int) {
	top = float32(math.Inf(-1))
	if len(x) < 16 {
		return top, 0
	}
	var acc [16]float32
	for l := range acc {
		acc[l] = top
	}
	n = headMax(k, &acc, x)
	for _, v := range acc {
		if v > top {
			top = v
		}
	}
	return top, n
}

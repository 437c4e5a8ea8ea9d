package cpu

import (
	"math"
	"unsafe"
)

// sweeps are elementwise loops over slices of equal length. Every step is rounded, none fused, and the exponential is
// expf32's, so the sets give the same bits here too. dst may be an argument.
type sweeps struct {
	siluMul    func(dst, g, u []float32)           // dst = silu(g) * u
	sigmoidMul func(dst, g, u []float32)           // dst = sigmoid(g) * u
	addGated   func(y, g, u []float32)             // y += sigmoid(g) * u
	siluScale  func(x []float32, scale float32)    // x = silu(x * scale)
	expShift   func(x []float32, shift float32)    // x = exp(x - shift)
	addScaled  func(y, x []float32, scale float32) // y += x * scale
}

func goSweeps() sweeps {
	return sweeps{siluMul, sigmoidMul, addSigmoidMul, siluScale, expShift, addScaled}
}

// addSigmoidMul sets y[i] = y[i] + float32(sigmoid(g[i]) * u[i]).
func addSigmoidMul(y, g, u []float32) {
	g, u = g[:len(y)], u[:len(y)]
	for i := range y {
		y[i] += float32(sigmoid(g[i]) * u[i])
	}
}

// expShift sets x[i] = exp(x[i] - shift).
func expShift(x []float32, shift float32) {
	for i, v := range x {
		x[i] = expf32(v - shift)
	}
}

// sweepFunc is an assembly sweep: n is a positive multiple of the vector length; arguments a sweep has no use for are ignored.
type sweepFunc func(dst, x, u *float32, n int, scale float32)

// wrapSweeps gives whole vectors of lanes elements to assembly and the rest to Go.
func wrapSweeps(lanes int, siluMulV, sigmoidMulV, addGatedV, siluScaleV, expShiftV, addScaledV sweepFunc) sweeps {
	three := func(vector sweepFunc, rest func(dst, g, u []float32)) func(dst, g, u []float32) {
		return func(dst, g, u []float32) {
			g, u = g[:len(dst)], u[:len(dst)]
			n := len(dst) &^ (lanes - 1)
			if n > 0 {
				vector(unsafe.SliceData(dst), unsafe.SliceData(g), unsafe.SliceData(u), n, 0)
			}
			rest(dst[n:], g[n:], u[n:])
		}
	}
	scaled := func(vector sweepFunc, rest func(x []float32, scale float32)) func(x []float32, scale float32) {
		return func(x []float32, scale float32) {
			n := len(x) &^ (lanes - 1)
			if n > 0 {
				vector(unsafe.SliceData(x), nil, nil, n, scale)
			}
			rest(x[n:], scale)
		}
	}
	return sweeps{
		siluMul:    three(siluMulV, siluMul),
		sigmoidMul: three(sigmoidMulV, sigmoidMul),
		addGated:   three(addGatedV, addSigmoidMul),
		siluScale:  scaled(siluScaleV, siluScale),
		expShift:   scaled(expShiftV, expShift),
		addScaled: func(y, x []float32, scale float32) {
			x = x[:len(y)]
			n := len(y) &^ (lanes - 1)
			if n > 0 {
				addScaledV(unsafe.SliceData(y), unsafe.SliceData(x), nil, n, scale)
			}
			addScaled(y[n:], x[n:], scale)
		},
	}
}

// sweepConsts is what assembly needs of expf32, each repeated for an 8-wide memory operand. asmgen knows the order.
//
//lint:ignore U1000 read by the assembly
var sweepConsts = [...][8]float32{
	{expLog2e, expLog2e, expLog2e, expLog2e, expLog2e, expLog2e, expLog2e, expLog2e},
	{expMagic, expMagic, expMagic, expMagic, expMagic, expMagic, expMagic, expMagic},
	{expLn2Hi, expLn2Hi, expLn2Hi, expLn2Hi, expLn2Hi, expLn2Hi, expLn2Hi, expLn2Hi},
	{expLn2Lo, expLn2Lo, expLn2Lo, expLn2Lo, expLn2Lo, expLn2Lo, expLn2Lo, expLn2Lo},
	{expC6, expC6, expC6, expC6, expC6, expC6, expC6, expC6},
	{expC5, expC5, expC5, expC5, expC5, expC5, expC5, expC5},
	{expC4, expC4, expC4, expC4, expC4, expC4, expC4, expC4},
	{expC3, expC3, expC3, expC3, expC3, expC3, expC3, expC3},
	{expC2, expC2, expC2, expC2, expC2, expC2, expC2, expC2},
	{1, 1, 1, 1, 1, 1, 1, 1},
	{expMin, expMin, expMin, expMin, expMin, expMin, expMin, expMin},
	{expMax, expMax, expMax, expMax, expMax, expMax, expMax, expMax},
	repeat8(float32(math.Inf(1))),
	repeat8(float32(math.Copysign(0, -1))),
	repeat8(-expBeyond),
	repeat8(expBeyond),
}

// expBeyond is past the largest argument with a finite exponential and, negative, past the smallest one that is not 0: assembly clamps to it.
const expBeyond float32 = 89

func repeat8(v float32) [8]float32 { return [8]float32{v, v, v, v, v, v, v, v} }

package cpu

import "math"

// log1pConsts is what the assembly of Decay needs of log1p, in the order of asmgen's decay512; the last is softplus's limit, as f32 in the low half.
//
//lint:ignore U1000 read by the assembly
var log1pConsts = [...]uint64{
	math.Float64bits(1), log1pHalf, math.Float64bits(1.0 / 17), math.Float64bits(1.0 / 15), math.Float64bits(1.0 / 13), math.Float64bits(1.0 / 11),
	math.Float64bits(1.0 / 9), math.Float64bits(1.0 / 7), math.Float64bits(1.0 / 5), math.Float64bits(1.0 / 3), math.Float64bits(math.Ln2),
	uint64(math.Float32bits(softplusLimit)),
}

// headDecay does the heads that fill half a register.
func headDecay(k simd, beta, decay, b, a, rate, bias []float32) int {
	n := len(beta) &^ 7
	if k != simdAVX512 || n == 0 {
		return 0
	}
	decayAVX512(&beta[0], &decay[:n][0], &b[:n][0], &a[:n][0], &rate[:n][0], &bias[:n][0], n)
	return n
}

//go:noescape
func decayAVX512(beta, decay, b, a, rate, bias *float32, n int)

package cpu

import "math"

// The canonical f32 exponential. Every kernel set computes exactly these operations, each rounded to f32, none fused:
//
//	t = x*log2e + 1.5*2^23     (the low bits of t are round-to-nearest-even(x*log2e) = n)
//	r = (x - n*ln2hi) - n*ln2lo
//	p = 1 + r*(1 + r*(c2 + r*(c3 + r*(c4 + r*(c5 + r*c6)))))
//	exp(x) = p * 2^n, by adding n to p's exponent bits
//
// Above expMax the result is +Inf, below expMin it is 0 (results under the smallest normal number are flushed), NaN
// stays NaN. The polynomial is the minimax fit of degree 6 with c0 = c1 = 1; its relative error is 3.2e-9, so rounding dominates:
// at most 1.15 ulp (TestExp). math.Exp is not used: it has assembly versions that differ by machine.
const (
	expLog2e float32 = 1.44269504088896341
	expMagic float32 = 12582912       // 1.5 * 2^23
	expLn2Hi float32 = 0.693359375    // 10 significant bits: n*ln2hi is exact
	expLn2Lo float32 = -2.12194440e-4 // ln 2 - ln2hi
	expC2    float32 = 0.49999993333493564
	expC3    float32 = 0.16666518938611105
	expC4    float32 = 0.041668407972857896
	expC5    float32 = 0.008368921793317134
	expC6    float32 = 0.0013814174161023442
	expMax   float32 = 88.72283  // largest x whose exponential is finite
	expMin   float32 = -87.33654 // smallest x whose exponential is normal
)

// expf32 is the canonical e^x.
func expf32(x float32) float32 {
	t := float32(x*expLog2e) + expMagic
	n := t - expMagic
	r := x - float32(n*expLn2Hi)
	r -= float32(n * expLn2Lo)
	p := float32(r*expC6) + expC5
	p = float32(r*p) + expC4
	p = float32(r*p) + expC3
	p = float32(r*p) + expC2
	p = float32(r*p) + 1
	p = float32(r*p) + 1
	e := math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
	if x < expMin {
		e = 0
	}
	if !(x <= expMax) { // NaN too
		e = x + float32(math.Inf(1))
	}
	return e
}

package cpu

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// Decay sets beta = sigmoid(b) and decay = exp(rate * softplus(a + bias)), spec 2.4; rate = -exp(A_log) comes from the
// loader. heads is small, so the op is split by rows only when a pass is long.
func (s *stream) Decay(beta, decay, b, a metal.Mat, rate, bias metal.Vec) {
	mb, md, mi, ma, rv, bv := matOf(beta), matOf(decay), matOf(b), matOf(a), vecOf(rate), vecOf(bias)
	if md.rows != mb.rows || mi.rows != mb.rows || ma.rows != mb.rows || md.cols != mb.cols || mi.cols != mb.cols ||
		ma.cols != mb.cols || len(rv) != mb.cols || len(bv) != mb.cols {
		want(false, "Decay", "beta [%d %d], decay [%d %d], b [%d %d], a [%d %d], rate [%d], bias [%d]", mb.rows, mb.cols,
			md.rows, md.cols, mi.rows, mi.cols, ma.rows, ma.cols, len(rv), len(bv))
	}
	grain := rowGrain(mb.cols, sweepGrain/32)
	k := s.dev.kernels.simd()
	if mb.rows <= grain {
		decayRows(k, mb, md, mi, ma, rv, bv, 0, mb.rows)
		return
	}
	s.parallel(mb.rows, grain, func(lo, hi int) { decayRows(k, mb, md, mi, ma, rv, bv, lo, hi) })
}

func decayRows(k simd, beta, decay, b, a mat, rate, bias []float32, lo, hi int) {
	for r := lo; r < hi; r++ {
		decayHeads(k, beta.row(r), decay.row(r), b.row(r), a.row(r), rate, bias)
	}
}

func decayHeads(k simd, beta, decay, b, a, rate, bias []float32) {
	for h := headDecay(k, beta, decay, b, a, rate, bias); h < len(beta); h++ {
		beta[h] = sigmoid(b[h])
		decay[h] = expf32(float32(rate[h] * softplus(a[h]+bias[h])))
	}
}

// softplusLimit is where softplus goes over to its argument (spec 2.4).
const softplusLimit = 20

// softplus is log(1+exp(x)), and x itself above softplusLimit.
func softplus(x float32) float32 {
	if x > softplusLimit {
		return x
	}
	return float32(log1p(float64(expf32(x))))
}

// log1pHalf is the bits of sqrt(1/2).
const log1pHalf = 0x3fe6a09e667f3bcd

// log1p is log(1+y) for y >= 0 with an absolute error far below an f32 ulp of the result. math.Log1p is not used because
// it has machine-dependent versions. With u = 1+y rounded, log(1+y) = log(u) + (y-(u-1))/u; u = 2^n * f with f in
// [sqrt(1/2), sqrt(2)), and log f = 2*atanh((f-1)/(f+1)) by its series to z^17. Every product is rounded to f64.
func log1p(y float64) float64 {
	u := 1 + y
	if !(u <= math.MaxFloat64) {
		return u
	}
	n := (int64(math.Float64bits(u)) - log1pHalf) >> 52
	f := math.Float64frombits(math.Float64bits(u) - uint64(n)<<52)
	z := (f - 1) / (f + 1)
	q := float64(z * z)
	p := float64(q*(1.0/17)) + 1.0/15
	p = float64(p*q) + 1.0/13
	p = float64(p*q) + 1.0/11
	p = float64(p*q) + 1.0/9
	p = float64(p*q) + 1.0/7
	p = float64(p*q) + 1.0/5
	p = float64(p*q) + 1.0/3
	lf := 2 * z
	lf += float64(float64(lf*q) * p)
	return float64(float64(n)*math.Ln2) + lf + (y-(u-1))/u
}

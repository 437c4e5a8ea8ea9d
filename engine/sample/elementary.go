package sample

import "math"

// ln 2 = ln2Hi + ln2Lo, where ln2Hi has 40 significant bits: k*ln2Hi is exact for every exponent k of a float64.
const (
	ln2Hi = 0x1.62e42fefa2p-01
	ln2Lo = 0x1.9ef35793c7673p-41
)

// ln 2 / 32 = stepHi + stepLo, where stepHi has 36 significant bits: k*stepHi is exact for |k| < 2^17.
const (
	stepHi   = 0x1.62e42fefap-06
	stepLo   = 0x1.cf79abc9e3b3ap-45
	stepsPer = 0x1.71547652b82fep+05 // 32 / ln 2
)

// log returns the natural logarithm of x > 0, finite, within 2 units in the last place, with the same bits on every CPU.
//
// x = 2^k m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(s) with s = (m-1)/(m+1), |s| < 0.172, by its power series. m-1 is
// exact, so that the result keeps its relative precision near x = 1, where Gumbel's upper tail comes from.
func log(x float64) float64 {
	k := 0
	if x < 0x1p-1022 { // subnormal: only a min_p typed as such comes here
		x = float64(x * 0x1p54)
		k = -54
	}
	b := math.Float64bits(x)
	k += int(b>>52) - 1023
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52) // in [1, 2)
	if m >= math.Sqrt2 {
		m = float64(m * 0.5)
		k++
	}
	f := m - 1
	s := f / (2 + f)
	q := float64(s * s)
	p := 1.0 / 21
	p = float64(p*q) + 1.0/19
	p = float64(p*q) + 1.0/17
	p = float64(p*q) + 1.0/15
	p = float64(p*q) + 1.0/13
	p = float64(p*q) + 1.0/11
	p = float64(p*q) + 1.0/9
	p = float64(p*q) + 1.0/7
	p = float64(p*q) + 1.0/5
	p = float64(p*q) + 1.0/3
	tail := float64(float64(2*s) * float64(p*q)) // 2 (s^3/3 + s^5/5 + ...)
	n := float64(k)
	return float64(n*ln2Hi) + (float64(2*s) + (tail + float64(n*ln2Lo)))
}

// exp returns e^x for x <= 0 (minus infinity included), within 1 unit in the last place, with the same bits on every CPU. Results
// below the smallest normal float64 are 0.
//
// x = (32n + j) ln2/32 + r with |r| <= ln2/64: 2^n times a table of 2^(j/32) times a polynomial in r.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	k := int64(float64(x*stepsPer) - 0.5) // x <= 0: truncation rounds to nearest
	n := float64(k)
	r := (x - float64(n*stepHi)) - float64(n*stepLo)
	p := 1.0 / 720
	p = float64(p*r) + 1.0/120
	p = float64(p*r) + 1.0/24
	p = float64(p*r) + 1.0/6
	p = float64(p*r) + 0.5
	p = float64(float64(p*r)*r) + r
	t := roots[k&31]
	return float64((t + float64(t*p)) * math.Float64frombits(uint64(1023+k>>5)<<52))
}

// roots[j] = 2^(j/32), correctly rounded; elementary_test.go recomputes them.
var roots = [32]float64{
	0x1p+00, 0x1.059b0d3158574p+00, 0x1.0b5586cf9890fp+00, 0x1.11301d0125b51p+00,
	0x1.172b83c7d517bp+00, 0x1.1d4873168b9aap+00, 0x1.2387a6e756238p+00, 0x1.29e9df51fdee1p+00,
	0x1.306fe0a31b715p+00, 0x1.371a7373aa9cbp+00, 0x1.3dea64c123422p+00, 0x1.44e086061892dp+00,
	0x1.4bfdad5362a27p+00, 0x1.5342b569d4f82p+00, 0x1.5ab07dd485429p+00, 0x1.6247eb03a5585p+00,
	0x1.6a09e667f3bcdp+00, 0x1.71f75e8ec5f74p+00, 0x1.7a11473eb0187p+00, 0x1.82589994cce13p+00,
	0x1.8ace5422aa0dbp+00, 0x1.93737b0cdc5e5p+00, 0x1.9c49182a3f09p+00, 0x1.a5503b23e255dp+00,
	0x1.ae89f995ad3adp+00, 0x1.b7f76f2fb5e47p+00, 0x1.c199bdd85529cp+00, 0x1.cb720dcef9069p+00,
	0x1.d5818dcfba487p+00, 0x1.dfc97337b9b5fp+00, 0x1.ea4afa2a490dap+00, 0x1.f50765b6e454p+00,
}

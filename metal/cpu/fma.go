package cpu

import "math"

// fmaSoft is a*b + c in float32 with one rounding, on any CPU. The product of two float32 is exact in float64, so
// only the sum can round twice: once to 53 bits, then to float32. That goes wrong only if the 53-bit sum sits exactly on
// a point where float32 rounding turns, and such a point has its low 28 bits clear (normal or subnormal result alike).
func fmaSoft(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	if math.Float64bits(s)&(1<<28-1) != 0 {
		return float32(s)
	}
	return fmaOdd(p, float64(c), s)
}

// fmaOdd rounds p+c, whose nearest float64 is s, to odd before the last rounding: an inexact sum takes the neighbour whose
// last bit is set, which keeps it off every turning point of float32 and on the right side of it.
func fmaOdd(p, c, s float64) float32 {
	if s == 0 || math.IsInf(s, 0) || math.IsNaN(s) {
		return float32(s)
	}
	t := s - p
	e := (p - (s - t)) + (c - t) // exact error of the sum (two-sum)
	if e == 0 {
		return float32(s)
	}
	u := math.Float64bits(s) // even: its low 28 bits are clear
	if (e > 0) == (s > 0) {
		u++
	} else {
		u--
	}
	return float32(math.Float64frombits(u))
}

package qsa

import "math"

// sincos is sine and cosine of |x| <= 2^26 with an error below 1e-15. It is ours and not the math package's because that
// one is free to fuse multiply and add, differently per machine; here the bits are the same everywhere.
func sincos(x float64) (sin, cos float64) {
	// x = k*pi/2 + r, |r| <= pi/4. pi/2 is cut into three parts; k times one of the first two is exact (k < 2^26, parts
	// of 27 bits), so the reduction loses nothing but the last part's rounding.
	const (
		p1 = 0x1.921fb54p+0
		p2 = 0x1.10b4610p-30
		p3 = 0x1.a62633145c06ep-58
	)
	k := math.RoundToEven(x * (2 / math.Pi))
	r := float64(x - float64(k*p1))
	r = float64(r - float64(k*p2))
	r = float64(r - float64(k*p3))
	z := float64(r * r)
	// Taylor series: on |r| <= pi/4 the first term left out is below 3e-17.
	s := series(z, -1.0/(14*15), -1.0/(12*13), -1.0/(10*11), -1.0/(8*9), -1.0/(6*7), -1.0/(4*5), -1.0/(2*3))
	c := series(z, -1.0/(15*16), -1.0/(13*14), -1.0/(11*12), -1.0/(9*10), -1.0/(7*8), -1.0/(5*6), -1.0/(3*4), -1.0/(1*2))
	s = float64(r * s)
	switch int64(k) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// series is 1 + z*q1*(1 + z*q2*(1 + ...)), the innermost quotient given first.
func series(z float64, quotients ...float64) float64 {
	y := 1.0
	for _, q := range quotients {
		y = 1 + float64(float64(z*q)*y)
	}
	return y
}

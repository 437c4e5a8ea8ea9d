package cpu

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// gateFloor is the least |a| under the root (spec 2.7.3; a constant of the family).
const gateFloor = 1e-6

// Gate is the PLE gate, spec 2.7.3: per stream a = <k, q>/sqrt(H) by the lane rule, products rounded, then
// sign(a)*sqrt(max(|a|, 1e-6)) with sign(0) = 0, and dst = sigmoid(a)*v.
func (s *stream) Gate(dst, k, q, v metal.Mat) {
	d, mk, mq, mv := matOf(dst), matOf(k), matOf(q), matOf(v)
	if mk.rows != d.rows || mq.rows != d.rows || mv.rows != d.rows || mk.cols != d.cols || mq.cols != d.cols || mv.cols == 0 || d.cols%mv.cols != 0 {
		want(false, "Gate", "dst [%d %d], k [%d %d], q [%d %d], v [%d %d]", d.rows, d.cols, mk.rows, mk.cols, mq.rows, mq.cols, mv.rows, mv.cols)
	}
	ks, grain := s.dev.kernels.simd(), rowGrain(d.cols, cheapGrain)
	if d.rows <= grain {
		gateRows(ks, d, mk, mq, mv, 0, d.rows)
		return
	}
	s.parallel(d.rows, grain, func(lo, hi int) { gateRows(ks, d, mk, mq, mv, lo, hi) })
}

func gateRows(kernels simd, dst, k, q, v mat, lo, hi int) {
	h := v.cols
	root := float32(math.Sqrt(float64(h)))
	for r := lo; r < hi; r++ {
		y, ks, qs, x := dst.row(r), k.row(r), q.row(r), v.row(r)
		for o := 0; o < len(y); o += h {
			g := sigmoid(signedRoot(laneDot(kernels, ks[o:o+h], qs[o:o+h]) / root))
			d := y[o : o+h]
			for i := range d {
				d[i] = float32(g * x[i])
			}
		}
	}
}

// signedRoot is sign(a)*sqrt(max(|a|, gateFloor)); 0 stays 0 and NaN stays NaN.
func signedRoot(a float32) float32 {
	switch {
	case a > 0:
		return sqrt32(max(a, gateFloor))
	case a < 0:
		return -sqrt32(max(-a, gateFloor))
	}
	return a
}

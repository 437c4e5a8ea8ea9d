package cpu

import "github.com/flashlane/flashlane/metal"

// cheapGrain is the number of elements of a few operations each that is worth handing to another thread, like sweepGrain.
const cheapGrain = 8192

// Norm is the grouped RMS norm, spec 2.0: y = (x * inv) * w with inv = 1/sqrt(mean(x^2)+eps), the sum of squares by the
// lane rule. dst may be src.
func (s *stream) Norm(dst, src metal.Mat, w metal.Vec, groups int, eps float32) {
	d, m, wv := matOf(dst), matOf(src), vecOf(w)
	if d.rows != m.rows || d.cols != m.cols || len(wv) != m.cols || groups < 1 || m.cols%groups != 0 {
		want(false, "Norm", "dst [%d %d], src [%d %d], w [%d], %d groups", d.rows, d.cols, m.rows, m.cols, len(wv), groups)
	}
	k, grain := s.dev.kernels.simd(), rowGrain(m.cols, cheapGrain)
	if m.rows <= grain {
		normRows(k, d, m, wv, groups, eps, 0, m.rows)
		return
	}
	s.parallel(m.rows, grain, func(lo, hi int) { normRows(k, d, m, wv, groups, eps, lo, hi) })
}

func normRows(k simd, dst, src mat, w []float32, groups int, eps float32, lo, hi int) {
	n := src.cols / groups
	for r := lo; r < hi; r++ {
		norms(k, dst.row(r), src.row(r), w, normSteps{n, n, n}, n, groups, float32(n), eps)
	}
}

// normSteps is the values from the beginning of a group to that of the next in the rows of a norm.
type normSteps struct{ y, x, w int }

// norms sets y = (x * inv) * w for groups of n values, inv = 1/sqrt(sum x^2 / count + eps), the sum by the lane rule. y may be x.
func norms(k simd, y, x, w []float32, s normSteps, n, groups int, count, eps float32) {
	if allNorms(k, y, x, w, s, n, groups, count, eps) {
		return
	}
	for g := range groups {
		v := x[g*s.x:][:n]
		scaleBy(k, y[g*s.y:][:n], v, w[g*s.w:][:n], 1/sqrt32(laneSquares(k, v)/count+eps))
	}
}

// rmsNorm sets y = (x * inv) * w; y may be x.
func rmsNorm(k simd, y, x, w []float32, eps float32) {
	norms(k, y, x, w, normSteps{}, len(x), 1, float32(len(x)), eps)
}

// scaleBy sets y = (x * inv) * w; y may be x.
func scaleBy(k simd, y, x, w []float32, inv float32) {
	x, w = x[:len(y)], w[:len(y)]
	for i := headScale(k, y, x, w, inv); i < len(y); i++ {
		y[i] = float32(float32(x[i]*inv) * w[i])
	}
}

package cpu

import "github.com/flashlane/flashlane/metal"

// NormRope norms each head and rotates its first 2*half columns, spec 2.5: a' = a*cos - b*sin, b' = b*cos + a*sin over
// the pairs (i, i+half), products rounded. cs row r = cos | sin of row r's position.
func (s *stream) NormRope(dst, src metal.Mat, w metal.Vec, heads, dim, step int, eps float32, cs metal.Mat) {
	d, m, wv, a := matOf(dst), matOf(src), vecOf(w), matOf(cs)
	if d.rows != m.rows || a.rows != m.rows || heads < 1 || d.cols != heads*dim || m.cols < (heads-1)*step+dim || len(wv) != dim ||
		a.cols%2 != 0 || a.cols > dim {
		want(false, "NormRope", "dst [%d %d], src [%d %d], w [%d], %d heads of %d every %d, angles [%d %d]", d.rows, d.cols, m.rows, m.cols,
			len(wv), heads, dim, step, a.rows, a.cols)
	}
	k, grain := s.dev.kernels.simd(), rowGrain(d.cols, cheapGrain)
	if d.rows <= grain {
		normRopeRows(k, d, m, wv, heads, step, eps, a, 0, d.rows)
		return
	}
	s.parallel(d.rows, grain, func(lo, hi int) { normRopeRows(k, d, m, wv, heads, step, eps, a, lo, hi) })
}

func normRopeRows(k simd, dst, src mat, w []float32, heads, step int, eps float32, cs mat, lo, hi int) {
	dim := len(w)
	for r := lo; r < hi; r++ {
		y, x, a := dst.row(r), src.row(r), cs.row(r)
		norms(k, y, x, w, normSteps{y: dim, x: step}, dim, heads, float32(dim), eps)
		for h := range heads {
			rotate(y[h*dim:(h+1)*dim], a)
		}
	}
}

// rotate turns the pairs (i, i+half) of v by the angles cs = cos | sin.
func rotate(v, cs []float32) {
	half := len(cs) / 2
	lo, hi, cos, sin := v[:half], v[half:2*half], cs[:half], cs[half:2*half]
	for i := range lo {
		a, b, c, s := lo[i], hi[i], cos[i], sin[i]
		lo[i] = float32(a*c) - float32(b*s)
		hi[i] = float32(b*c) + float32(a*s)
	}
}

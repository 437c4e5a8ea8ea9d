package cpu

import "github.com/flashlane/flashlane/metal"

// GatedNorm is the GDN output norm, spec 2.0: per head y = ((o * inv) * w) * act(z), inv as in Norm. dst may be o.
func (s *stream) GatedNorm(dst, o, z metal.Mat, w metal.Vec, eps float32, act metal.Activation) {
	d, mo, mz, wv := matOf(dst), matOf(o), matOf(z), vecOf(w)
	if mo.rows != d.rows || mz.rows != d.rows || mo.cols != d.cols || mz.cols != d.cols || len(wv) == 0 || d.cols%len(wv) != 0 {
		want(false, "GatedNorm", "dst [%d %d], o [%d %d], z [%d %d], w [%d]", d.rows, d.cols, mo.rows, mo.cols, mz.rows, mz.cols, len(wv))
	}
	k, grain := s.dev.kernels, rowGrain(d.cols, sweepGrain)
	if d.rows <= grain {
		gatedRows(k, d, mo, mz, wv, eps, act, 0, d.rows)
		return
	}
	s.parallel(d.rows, grain, func(lo, hi int) { gatedRows(k, d, mo, mz, wv, eps, act, lo, hi) })
}

func gatedRows(k *kernelSet, dst, o, z mat, w []float32, eps float32, act metal.Activation, lo, hi int) {
	for r := lo; r < hi; r++ {
		gatedHeads(k, dst.row(r), o.row(r), z.row(r), w, eps, act)
	}
}

// gatedHeads does the heads of a row that y holds.
func gatedHeads(k *kernelSet, y, x, g, w []float32, eps float32, act metal.Activation) {
	n := len(w)
	norms(k.simd(), y, x, w, normSteps{y: n, x: n}, n, len(x)/n, float32(n), eps)
	if act == metal.Silu {
		k.siluMul(y, g, y)
	} else {
		k.sigmoidMul(y, g, y)
	}
}

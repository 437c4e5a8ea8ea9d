package cpu

import "github.com/flashlane/flashlane/metal"

// Inject adds c[s]*y to stream s of x, spec 2.2: x + round(c*y).
func (s *stream) Inject(x, c, y metal.Mat) {
	mx, mc, my := matOf(x), matOf(c), matOf(y)
	if mc.rows != mx.rows || my.rows != mx.rows || mx.cols != mc.cols*my.cols {
		want(false, "Inject", "x [%d %d], c [%d %d], y [%d %d]", mx.rows, mx.cols, mc.rows, mc.cols, my.rows, my.cols)
	}
	k, grain := s.dev.kernels, rowGrain(mx.cols, cheapGrain)
	if mx.rows <= grain {
		injectRows(k, mx, mc, my, 0, mx.rows)
		return
	}
	s.parallel(mx.rows, grain, func(lo, hi int) { injectRows(k, mx, mc, my, lo, hi) })
}

func injectRows(k *kernelSet, x, c, y mat, lo, hi int) { inject(k, x, c, y, lo, hi-lo, 0, y.cols) }

// addScaled sets x = x + round(g*v).
func addScaled(x, v []float32, g float32) {
	v = v[:len(x)]
	for i := range x {
		x[i] += float32(g * v[i])
	}
}

package cpu

import "github.com/flashlane/flashlane/metal"

// AddGated adds round(sigmoid(g)*v) to y, spec 2.6: the shared expert.
func (s *stream) AddGated(y, g, v metal.Mat) {
	my, mg, mv := matOf(y), matOf(g), matOf(v)
	if mg.rows != my.rows || mv.rows != my.rows || mv.cols != my.cols || mg.cols != 1 {
		want(false, "AddGated", "y [%d %d], s [%d %d], v [%d %d]", my.rows, my.cols, mg.rows, mg.cols, mv.rows, mv.cols)
	}
	k, grain := s.dev.kernels, rowGrain(my.cols, cheapGrain)
	if my.rows <= grain {
		addGatedRows(k, my, mg, mv, 0, my.rows)
		return
	}
	s.parallel(my.rows, grain, func(lo, hi int) { addGatedRows(k, my, mg, mv, lo, hi) })
}

func addGatedRows(k *kernelSet, y, g, v mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		k.addScaled(y.row(r), v.row(r), sigmoid(g.row(r)[0]))
	}
}

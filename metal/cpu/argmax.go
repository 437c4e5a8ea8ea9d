package cpu

import "github.com/flashlane/flashlane/metal"

// ArgMax writes the lowest index of each row's maximum; a NaN is passed over, and a row of nothing but NaN gives 0 (callers
// check rows for NaN before they trust an argmax).
func (s *stream) ArgMax(ids, x metal.Mat) {
	mi, mx := imatOf(ids), matOf(x)
	if mi.rows != mx.rows || mi.cols != 1 || mx.cols < 1 {
		want(false, "ArgMax", "ids [%d %d], x [%d %d]", mi.rows, mi.cols, mx.rows, mx.cols)
	}
	k, grain := s.dev.kernels.simd(), rowGrain(mx.cols, cheapGrain)
	if mx.rows <= grain {
		argMaxRows(k, mi, mx, 0, mx.rows)
		return
	}
	s.parallel(mx.rows, grain, func(lo, hi int) { argMaxRows(k, mi, mx, lo, hi) })
}

func argMaxRows(k simd, ids imat, x mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		row := x.row(r)
		top, at := largest(k, row), 0
		for i, v := range row {
			if v == top {
				at = i
				break
			}
		}
		ids.row(r)[0] = int32(at)
	}
}

package cpu

import "github.com/flashlane/flashlane/metal"

// AddBoth sets x = x + (a + b), spec 2.7.3: the bypass and the convolution are added first.
func (s *stream) AddBoth(x, a, b metal.Mat) {
	mx, ma, mb := matOf(x), matOf(a), matOf(b)
	if ma.rows != mx.rows || mb.rows != mx.rows || ma.cols != mx.cols || mb.cols != mx.cols {
		want(false, "AddBoth", "x [%d %d], a [%d %d], b [%d %d]", mx.rows, mx.cols, ma.rows, ma.cols, mb.rows, mb.cols)
	}
	grain := rowGrain(mx.cols, cheapGrain)
	if mx.rows <= grain {
		addBothRows(mx, ma, mb, 0, mx.rows)
		return
	}
	s.parallel(mx.rows, grain, func(lo, hi int) { addBothRows(mx, ma, mb, lo, hi) })
}

func addBothRows(x, a, b mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		xs := x.row(r)
		as, bs := a.row(r)[:len(xs)], b.row(r)[:len(xs)]
		for i := range xs {
			xs[i] += as[i] + bs[i]
		}
	}
}

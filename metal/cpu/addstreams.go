package cpu

import "github.com/flashlane/flashlane/metal"

// AddStreams adds y [R, H] to every stream of x [R, S*H], spec 3.1.
func (s *stream) AddStreams(x, y metal.Mat) {
	mx, my := matOf(x), matOf(y)
	if my.rows != mx.rows || my.cols == 0 || mx.cols%my.cols != 0 {
		want(false, "AddStreams", "x [%d %d], y [%d %d]", mx.rows, mx.cols, my.rows, my.cols)
	}
	grain := rowGrain(mx.cols, cheapGrain)
	if mx.rows <= grain {
		addStreamsRows(mx, my, 0, mx.rows)
		return
	}
	s.parallel(mx.rows, grain, func(lo, hi int) { addStreamsRows(mx, my, lo, hi) })
}

func addStreamsRows(x, y mat, lo, hi int) {
	for r := lo; r < hi; r++ {
		xs, v := x.row(r), y.row(r)
		for o := 0; o < len(xs); o += len(v) {
			d := xs[o : o+len(v)]
			for i := range d {
				d[i] += v[i]
			}
		}
	}
}

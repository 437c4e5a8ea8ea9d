package conform

import "github.com/flashlane/flashlane/metal"

// addTol: one or two roundings of sums whose terms are about 1 and may cancel.
var addTol = tolerance{abs: 1e-6, rel: 1e-6}

func injectCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, h, streams int
	}{{"empty", 0, 4, 2}, {"one", 1, 1, 1}, {"odd", 5, 19, 3}, {"nano", 4, 256, 4}, {"prefill", 64, 256, 4}} {
		all = append(all, opCase{"Inject", s.name, func(e *env) *call {
			x, c, y := e.inout(s.rows, s.h*s.streams, e.normal), e.in(s.rows, s.streams, e.unit), e.in(s.rows, s.h, e.normal)
			return &call{rows: s.rows, outs: []*operand{x}, bytes: int64(4 * s.rows * s.h * (2*s.streams + 1)),
				run: func(st metal.Stream, lo, hi int) {
					st.Inject(x.RowsOf(lo, hi-lo), c.RowsOf(lo, hi-lo), y.RowsOf(lo, hi-lo))
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						for i, v := range x.row(r) {
							want = append(want, v+c.at(r, i/s.h)*y.at(r, i%s.h))
						}
					}
					e.near("Inject", x.Cols, x.read(), want, addTol)
				},
			}
		}})
	}
	return all
}

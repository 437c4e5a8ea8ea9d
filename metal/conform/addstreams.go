package conform

import "github.com/flashlane/flashlane/metal"

func addStreamsCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, h, streams int
	}{{"empty", 0, 4, 2}, {"one", 1, 1, 1}, {"odd", 5, 19, 3}, {"nano", 4, 256, 4}} {
		all = append(all, opCase{"AddStreams", s.name, func(e *env) *call {
			x, y := e.inout(s.rows, s.h*s.streams, e.normal), e.in(s.rows, s.h, e.normal)
			return &call{rows: s.rows, outs: []*operand{x}, bytes: int64(4 * s.rows * s.h * (2*s.streams + 1)),
				run: func(st metal.Stream, lo, hi int) { st.AddStreams(x.RowsOf(lo, hi-lo), y.RowsOf(lo, hi-lo)) },
				check: func() {
					var want []float64
					for r := range s.rows {
						for i, v := range x.row(r) {
							want = append(want, v+y.at(r, i%s.h))
						}
					}
					e.near("AddStreams", x.Cols, x.read(), want, addTol)
				},
			}
		}})
	}
	return all
}

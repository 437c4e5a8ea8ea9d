package conform

import "github.com/flashlane/flashlane/metal"

func addBothCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
	}{{"empty", 0, 4}, {"one", 1, 1}, {"odd", 5, 19}, {"nano", 4, 1024}} {
		all = append(all, opCase{"AddBoth", s.name, func(e *env) *call {
			x, a, b := e.inout(s.rows, s.cols, e.normal), e.in(s.rows, s.cols, e.normal), e.in(s.rows, s.cols, e.normal)
			return &call{rows: s.rows, outs: []*operand{x}, bytes: int64(16 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) {
					st.AddBoth(x.RowsOf(lo, hi-lo), a.RowsOf(lo, hi-lo), b.RowsOf(lo, hi-lo))
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						for c, v := range x.row(r) {
							want = append(want, v+(a.at(r, c)+b.at(r, c)))
						}
					}
					e.near("AddBoth", s.cols, x.read(), want, addTol)
				},
			}
		}})
	}
	return all
}

package conform

import "github.com/flashlane/flashlane/metal"

func addGatedCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
	}{{"empty", 0, 4}, {"one", 1, 1}, {"odd", 5, 19}, {"nano", 4, 256}, {"prefill", 64, 256}} {
		all = append(all, opCase{"AddGated", s.name, func(e *env) *call {
			y, g, v := e.inout(s.rows, s.cols, e.normal), e.in(s.rows, 1, e.scaled(3)), e.in(s.rows, s.cols, e.normal)
			return &call{rows: s.rows, outs: []*operand{y}, bytes: int64(12 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) {
					st.AddGated(y.RowsOf(lo, hi-lo), g.RowsOf(lo, hi-lo), v.RowsOf(lo, hi-lo))
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						for c, x := range y.row(r) {
							want = append(want, x+sigmoidRef(g.at(r, 0))*v.at(r, c))
						}
					}
					e.near("AddGated", s.cols, y.read(), want, addTol)
				},
			}
		}})
	}
	return all
}

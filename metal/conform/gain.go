package conform

import "github.com/flashlane/flashlane/metal"

func gainCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
	}{{"empty", 0, 4}, {"one", 1, 1}, {"odd", 7, 3}, {"nano", 64, 4}} {
		all = append(all, opCase{"Gain", s.name, func(e *env) *call {
			c := e.inout(s.rows, s.cols, e.scaled(8))
			return &call{rows: s.rows, outs: []*operand{c}, bytes: int64(8 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) { st.Gain(c.RowsOf(lo, hi-lo), 0.25) },
				check: func() {
					var want []float64
					for r := range s.rows {
						for _, v := range c.row(r) {
							want = append(want, 2*sigmoidRef(v/4))
						}
					}
					e.near("Gain", s.cols, c.read(), want, siluTol)
				},
			}
		}})
	}
	return all
}

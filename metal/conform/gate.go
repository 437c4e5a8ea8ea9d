package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// gateTol: the root magnifies the dot's absolute error (about 1e-6) by 1/(2 sqrt|a|), at most 500 near the floor.
var gateTol = tolerance{abs: 2e-5, rel: 2e-5}

func gateCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, h, streams int
		sigma            float64
	}{
		{"empty", 0, 4, 2, 1}, {"one", 1, 1, 1, 1}, {"odd", 5, 19, 3, 1}, {"zero", 2, 16, 2, 0}, {"floor", 3, 16, 4, 1e-4}, {"nano", 4, 256, 4, 1},
		{"released", 4, 2560, 4, 1},
	} {
		all = append(all, opCase{"Gate", s.name, func(e *env) *call {
			w := s.h * s.streams
			k, q, v, dst := e.in(s.rows, w, e.scaled(s.sigma)), e.in(s.rows, w, e.scaled(s.sigma)), e.in(s.rows, s.h, e.normal), e.out(s.rows, w)
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(4 * s.rows * (3*w + s.h)),
				run: func(st metal.Stream, lo, hi int) {
					st.Gate(dst.RowsOf(lo, hi-lo), k.RowsOf(lo, hi-lo), q.RowsOf(lo, hi-lo), v.RowsOf(lo, hi-lo))
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						for o := 0; o < w; o += s.h {
							a := dotRef(k.row(r)[o:o+s.h], q.row(r)[o:o+s.h]) / math.Sqrt(float64(s.h))
							if a != 0 {
								a = math.Copysign(math.Sqrt(max(math.Abs(a), 1e-6)), a)
							}
							for _, x := range v.row(r) {
								want = append(want, sigmoidRef(a)*x)
							}
						}
					}
					e.near("Gate", w, dst.read(), want, gateTol)
				},
			}
		}})
	}
	return all
}

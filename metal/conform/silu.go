package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// siluTol: an exponential of 2 ulp, an addition and a division; abs covers results under the smallest normal number.
var siluTol = tolerance{abs: 1e-30, rel: 1e-6}

func sigmoidRef(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func siluRef(x float64) float64 { return x / (1 + math.Exp(-x)) }

func siluCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
		sigma      float64
	}{
		{"empty", 0, 3, 1}, {"one", 1, 1, 1}, {"odd", 5, 19, 2}, {"far", 7, 33, 60}, {"lowrank", 4, 32, 1}, {"inner", 4, 96, 1}, {"prefill", 64, 640, 2},
	} {
		all = append(all, opCase{"SiluScale", s.name, func(e *env) *call {
			x := e.inout(s.rows, s.cols, e.scaled(s.sigma))
			return &call{rows: s.rows, outs: []*operand{x}, bytes: int64(8 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) { st.SiluScale(x.RowsOf(lo, hi-lo), 0.25) },
				check: func() {
					var want []float64
					for r := range s.rows {
						for _, v := range x.row(r) {
							want = append(want, siluRef(v/4))
						}
					}
					e.near("SiluScale", s.cols, x.read(), want, siluTol)
				},
			}
		}}, opCase{"SiluMul", s.name, siluMul(s.rows, s.cols, s.sigma, "")},
			opCase{"SiluMul", s.name + "-over-g", siluMul(s.rows, s.cols, s.sigma, "g")},
			opCase{"SiluMul", s.name + "-over-u", siluMul(s.rows, s.cols, s.sigma, "u")})
	}
	return all
}

// siluMul is a SiluMul case whose destination is memory of its own, g or u.
func siluMul(rows, cols int, sigma float64, over string) func(e *env) *call {
	return func(e *env) *call {
		g, u := e.inout(rows, cols, e.scaled(sigma)), e.inout(rows, cols, e.normal)
		dst := map[string]*operand{"g": g, "u": u}[over]
		if dst == nil {
			dst = e.out(rows, cols)
		}
		return &call{rows: rows, outs: []*operand{dst}, bytes: int64(12 * rows * cols),
			run: func(st metal.Stream, lo, hi int) {
				st.SiluMul(dst.RowsOf(lo, hi-lo), g.RowsOf(lo, hi-lo), u.RowsOf(lo, hi-lo))
			},
			check: func() {
				var want []float64
				for r := range rows {
					for c := range cols {
						want = append(want, siluRef(g.at(r, c))*u.at(r, c))
					}
				}
				e.near("SiluMul", cols, dst.read(), want, siluTol)
			},
		}
	}
}

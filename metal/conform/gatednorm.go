package conform

import "github.com/flashlane/flashlane/metal"

// gatedNormTol is normTol with an activation's error on top.
var gatedNormTol = tolerance{abs: 1e-7, rel: 4e-6}

func gatedNormCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, heads, dim int
		act              metal.Activation
		inplace          bool
	}{
		{"empty", 0, 2, 8, metal.Sigmoid, false}, {"one", 1, 1, 1, metal.Sigmoid, false}, {"odd", 5, 3, 12, metal.Silu, false},
		{"inplace", 3, 6, 19, metal.Sigmoid, true}, {"nano", 4, 8, 32, metal.Sigmoid, true}, {"released", 4, 48, 128, metal.Sigmoid, false},
		{"silu", 4, 8, 32, metal.Silu, true},
	} {
		all = append(all, opCase{"GatedNorm", s.name, func(e *env) *call {
			cols := s.heads * s.dim
			z, w := e.in(s.rows, cols, e.scaled(3)), e.vec(s.dim, e.near1)
			var o, dst *operand
			if s.inplace {
				o = e.inout(s.rows, cols, e.normal)
				dst = o
			} else {
				o, dst = e.in(s.rows, cols, e.normal), e.out(s.rows, cols)
			}
			const eps = 1e-6
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(12 * s.rows * cols),
				run: func(st metal.Stream, lo, hi int) {
					st.GatedNorm(dst.RowsOf(lo, hi-lo), o.RowsOf(lo, hi-lo), z.RowsOf(lo, hi-lo), w.Vec(), eps, s.act)
				},
				check: func() {
					act := sigmoidRef
					if s.act == metal.Silu {
						act = siluRef
					}
					var want []float64
					for r := range s.rows {
						x := o.row(r)
						for h := range s.heads {
							for i, v := range normRef(x[h*s.dim:(h+1)*s.dim], w.row(0), 1, eps) {
								want = append(want, v*act(z.at(r, h*s.dim+i)))
							}
						}
					}
					e.near("GatedNorm", cols, dst.read(), want, gatedNormTol)
				},
			}
		}})
	}
	return all
}

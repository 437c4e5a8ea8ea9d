package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// normTol: the sum of squares has only positive terms, so its relative error is a few roundings; the rest is four more.
var normTol = tolerance{abs: 1e-7, rel: 2e-6}

func normCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name               string
		rows, cols, groups int
		inplace            bool
	}{
		{"empty", 0, 8, 2, false}, {"one", 1, 1, 1, false}, {"odd", 3, 21, 3, false}, {"inplace", 4, 72, 2, true},
		{"nano", 4, 1024, 4, false}, {"nanoprefill", 64, 1024, 4, false}, {"released", 4, 10240, 4, false},
	} {
		all = append(all, opCase{"Norm", s.name, func(e *env) *call {
			src, w := e.in(s.rows, s.cols, e.scaled(3)), e.vec(s.cols, e.near1)
			dst := src
			if s.inplace {
				src = e.inout(s.rows, s.cols, e.scaled(3))
				dst = src
			} else {
				dst = e.out(s.rows, s.cols)
			}
			const eps = 1e-6
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(8 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) {
					st.Norm(dst.RowsOf(lo, hi-lo), src.RowsOf(lo, hi-lo), w.Vec(), s.groups, eps)
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						want = append(want, normRef(src.row(r), w.row(0), s.groups, eps)...)
					}
					e.near("Norm", s.cols, dst.read(), want, normTol)
				},
			}
		}})
	}
	// A row of zeros stays zero: eps keeps the root away from 0.
	all = append(all, opCase{"Norm", "zeros", func(e *env) *call {
		src, w, dst := e.in(2, 32, func() float32 { return 0 }), e.vec(32, e.near1), e.out(2, 32)
		return &call{rows: 2, outs: []*operand{dst},
			run: func(st metal.Stream, lo, hi int) {
				st.Norm(dst.RowsOf(lo, hi-lo), src.RowsOf(lo, hi-lo), w.Vec(), 1, 1e-6)
			},
			check: func() { e.near("Norm", 32, dst.read(), make([]float64, 64), tolerance{}) },
		}
	}})
	return all
}

// normRef is the grouped RMS norm of one row.
func normRef(x, w []float64, groups int, eps float64) []float64 {
	y := make([]float64, len(x))
	n := len(x) / groups
	for g := range groups {
		sum := 0.0
		for _, v := range x[g*n : (g+1)*n] {
			sum += v * v
		}
		inv := 1 / math.Sqrt(sum/float64(n)+eps)
		for i := g * n; i < (g+1)*n; i++ {
			y[i] = x[i] * inv * w[i]
		}
	}
	return y
}

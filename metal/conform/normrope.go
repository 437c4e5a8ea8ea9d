package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// ropeTol: a norm, two products and a sum that may cancel.
var ropeTol = tolerance{abs: 1e-6, rel: 2e-6}

func normRopeCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name                         string
		rows, heads, dim, step, half int
	}{
		{"empty", 0, 2, 8, 8, 2}, {"one", 1, 1, 2, 2, 1}, {"odd", 5, 3, 24, 29, 3}, {"full", 3, 2, 18, 18, 9}, {"nano-q", 4, 8, 64, 128, 8},
		{"nano-k", 4, 2, 64, 64, 8}, {"released-q", 4, 24, 256, 512, 32},
	} {
		all = append(all, opCase{"NormRope", s.name, func(e *env) *call {
			src, w, dst := e.in(s.rows, (s.heads-1)*s.step+s.dim, e.scaled(2)), e.vec(s.dim, e.near1), e.out(s.rows, s.heads*s.dim)
			cs := e.angles(s.rows, s.half)
			const eps = 1e-6
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(8 * s.rows * s.heads * s.dim),
				run: func(st metal.Stream, lo, hi int) {
					st.NormRope(dst.RowsOf(lo, hi-lo), src.RowsOf(lo, hi-lo), w.Vec(), s.heads, s.dim, s.step, eps, cs.RowsOf(lo, hi-lo))
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						for h := range s.heads {
							x := src.row(r)[h*s.step:][:s.dim]
							want = append(want, ropeRef(normRef(x, w.row(0), 1, eps), cs.row(r))...)
						}
					}
					e.near("NormRope", dst.Cols, dst.read(), want, ropeTol)
				},
			}
		}})
	}
	return all
}

// angles is a matrix of rows cos | sin.
func (e *env) angles(rows, half int) *operand {
	cs := e.in(rows, 2*half, e.unit)
	for r := range rows {
		v := cs.host(r)
		for i := range half {
			a := 2 * math.Pi * e.rng.Float64()
			v[i], v[half+i] = float32(math.Cos(a)), float32(math.Sin(a))
		}
	}
	cs.reset()
	return cs
}

// ropeRef rotates the pairs (i, i+half) of a copy of x.
func ropeRef(x, cs []float64) []float64 {
	y := append([]float64{}, x...)
	half := len(cs) / 2
	for i := range half {
		y[i] = x[i]*cs[i] - x[half+i]*cs[half+i]
		y[half+i] = x[half+i]*cs[i] + x[i]*cs[half+i]
	}
	return y
}

package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// expertsTol: three products with matrices; results are below 1.
var expertsTol = tolerance{abs: 2e-5, rel: 2e-5}

func expertsCases() []opCase {
	var all []opCase
	for _, s := range []struct{ rows, h, inner, experts, k int }{
		{0, 32, 32, 4, 2}, {1, 7, 5, 1, 1}, {5, 72, 20, 7, 3}, {3, 64, 64, 5, 5}, {4, 256, 96, 16, 4}, {33, 256, 96, 16, 4},
	} {
		for _, f := range formats {
			if !f.fits(s.h) || !f.fits(s.inner) {
				continue
			}
			all = append(all, opCase{"Experts", fmt.Sprintf("%s-r%d-h%d-i%d-e%d-k%d", f, s.rows, s.h, s.inner, s.experts, s.k), func(e *env) *call {
				gate, up, down := e.weight(f, s.experts, s.inner, s.h), e.weight(f, s.experts, s.inner, s.h), e.weight(f, s.experts, s.h, s.inner)
				x, w, y := e.in(s.rows, s.h, e.normal), e.in(s.rows, s.k, e.unit), e.out(s.rows, s.h)
				picks := make([][]int, s.rows)
				for r := range picks {
					picks[r] = e.subset(s.k, s.experts)
				}
				ids := e.outInts(0, s.k)
				if s.rows > 0 {
					ids = e.chosen(picks, s.experts)
				}
				return &call{rows: s.rows, outs: []*operand{y}, bytes: gate.Bytes() + up.Bytes() + down.Bytes(),
					run: func(st metal.Stream, lo, hi int) {
						st.Experts(y.RowsOf(lo, hi-lo), x.RowsOf(lo, hi-lo), ids.RowsOf(lo, hi-lo), w.RowsOf(lo, hi-lo), gate.Weight, up.Weight, down.Weight)
					},
					check: func() {
						var want []float64
						for r := range s.rows {
							sum := make([]float64, s.h)
							for j, id := range picks[r] {
								act := make([]float64, s.inner)
								for i := range act {
									act[i] = siluRef(dotRef(x.row(r), gate.row(id, i))) * dotRef(x.row(r), up.row(id, i))
								}
								for i := range sum {
									sum[i] += w.at(r, j) * dotRef(act, down.row(id, i))
								}
							}
							want = append(want, sum...)
						}
						e.near("Experts", s.h, y.read(), want, expertsTol)
					},
				}
			}})
		}
	}
	return all
}

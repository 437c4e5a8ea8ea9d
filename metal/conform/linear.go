package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// linearTol: results are about 1; a sum of K terms of about 1/sqrt(K) in lanes loses under 1e-6 for K = 1024, and affine codes
// summed before their bias is added some times that.
var linearTol = tolerance{abs: 2e-5, rel: 1e-5}

func linearCases() []opCase {
	var all []opCase
	for _, s := range []struct{ rows, n, k int }{
		{0, 5, 32}, {1, 1, 1}, {3, 5, 7}, {2, 33, 100}, {5, 17, 64}, {1, 37, 192}, {8, 4, 1024}, {17, 31, 96}, {4, 1024, 256}, {1, 512, 256}, {20, 160, 128},
	} {
		for _, f := range formats {
			if !f.fits(s.k) {
				continue
			}
			all = append(all, opCase{"Linear", fmt.Sprintf("%s-r%d-n%d-k%d", f, s.rows, s.n, s.k), func(e *env) *call {
				x, w, dst := e.in(s.rows, s.k, e.normal), e.weight(f, 1, s.n, s.k), e.out(s.rows, s.n)
				return &call{rows: s.rows, outs: []*operand{dst}, bytes: w.Bytes(),
					run: func(st metal.Stream, lo, hi int) { st.Linear(dst.RowsOf(lo, hi-lo), x.RowsOf(lo, hi-lo), w.Weight) },
					check: func() {
						var want []float64
						for r := range s.rows {
							for n := range s.n {
								want = append(want, dotRef(x.row(r), w.row(0, n)))
							}
						}
						e.near("Linear", s.n, dst.read(), want, linearTol)
					},
				}
			}})
		}
	}
	return all
}

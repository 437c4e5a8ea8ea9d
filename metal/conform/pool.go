package conform

import "github.com/flashlane/flashlane/metal"

// poolTol is ropeTol with the mean's roundings, which cancellation can magnify.
var poolTol = tolerance{abs: 4e-6, rel: 4e-6}

func poolCases() []opCase {
	type span struct{ block, n int }
	var all []opCase
	for _, s := range []struct {
		name             string
		spans            []span
		dim, ratio, half int
	}{
		{"empty", []span{{0, 0}}, 8, 4, 2}, {"one", []span{{0, 1}}, 2, 1, 1}, {"odd", []span{{2, 3}, {0, 0}, {5, 1}, {0, 4}}, 20, 3, 5},
		{"nano", []span{{7, 2}, {1, 1}}, 32, 4, 4}, {"prefill", []span{{64, 64}}, 32, 4, 4}, {"released", []span{{100, 1}}, 128, 4, 32},
	} {
		all = append(all, opCase{"Pool", s.name, func(e *env) *call {
			w := e.vec(s.dim, e.near1)
			var spans []metal.PoolSpan
			var ns []int
			var raws, angles, outs []*operand
			rows := 0
			for _, sp := range s.spans {
				raw, angle, dst := e.vec((sp.block+sp.n)*s.ratio*s.dim, e.normal), e.angles(sp.n, s.half), e.out(sp.n, s.dim)
				spans = append(spans, metal.PoolSpan{Raw: raw.Vec(), Block: sp.block, N: sp.n, Dst: dst.Mat, Angle: angle.Mat})
				raws, angles, outs, ns = append(raws, raw), append(angles, angle), append(outs, dst), append(ns, sp.n)
				rows += sp.n
			}
			const eps = 1e-6
			return &call{rows: rows, outs: outs, bytes: int64(4 * rows * s.dim * (s.ratio + 1)),
				run: func(st metal.Stream, lo, hi int) {
					var parts []metal.PoolSpan
					clip(ns, lo, hi, func(k, from, n int) {
						sp := spans[k]
						sp.Block, sp.N, sp.Dst, sp.Angle = sp.Block+from, n, sp.Dst.RowsOf(from, n), sp.Angle.RowsOf(from, n)
						parts = append(parts, sp)
					})
					st.Pool(w.Vec(), s.dim, s.ratio, eps, parts)
				},
				check: func() {
					for k, sp := range spans {
						var want []float64
						for i := range sp.N {
							mean := make([]float64, s.dim)
							for j := range s.ratio {
								for c := range mean {
									mean[c] += raws[k].at(0, ((sp.Block+i)*s.ratio+j)*s.dim+c) / float64(s.ratio)
								}
							}
							want = append(want, ropeRef(normRef(mean, w.row(0), 1, eps), angles[k].row(i))...)
						}
						e.near("Pool", s.dim, outs[k].read(), want, poolTol)
					}
				},
			}
		}})
	}
	return all
}

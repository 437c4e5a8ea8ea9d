package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// decayTol: the exponent is rate*softplus, up to about 30 in size, so its rounding is worth 30 * 2^-24 in the result.
var decayTol = tolerance{abs: 1e-30, rel: 6e-6}

func decayCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name        string
		rows, heads int
		sigma       float64
	}{{"empty", 0, 3, 1}, {"one", 1, 1, 1}, {"odd", 9, 7, 2}, {"far", 40, 5, 15}, {"nano", 4, 8, 2}, {"prefill", 64, 48, 2}} {
		all = append(all, opCase{"Decay", s.name, func(e *env) *call {
			b, a := e.in(s.rows, s.heads, e.scaled(s.sigma)), e.in(s.rows, s.heads, e.scaled(s.sigma))
			rate := e.vec(s.heads, func() float32 { return -float32(math.Exp(0.5 * e.rng.NormFloat64())) })
			bias := e.vec(s.heads, e.normal)
			beta, decay := e.out(s.rows, s.heads), e.out(s.rows, s.heads)
			return &call{rows: s.rows, outs: []*operand{beta, decay}, bytes: int64(16 * s.rows * s.heads),
				run: func(st metal.Stream, lo, hi int) {
					st.Decay(beta.RowsOf(lo, hi-lo), decay.RowsOf(lo, hi-lo), b.RowsOf(lo, hi-lo), a.RowsOf(lo, hi-lo), rate.Vec(), bias.Vec())
				},
				check: func() {
					var wantBeta, wantDecay []float64
					for r := range s.rows {
						for h := range s.heads {
							wantBeta = append(wantBeta, sigmoidRef(b.at(r, h)))
							x := float64(float32(a.at(r, h) + bias.at(0, h)))
							sp := x
							if x <= 20 {
								sp = math.Log1p(math.Exp(x))
							}
							wantDecay = append(wantDecay, math.Exp(rate.at(0, h)*sp))
						}
					}
					e.near("Decay beta", s.heads, beta.read(), wantBeta, siluTol)
					e.near("Decay decay", s.heads, decay.read(), wantDecay, decayTol)
				},
			}
		}})
	}
	return all
}

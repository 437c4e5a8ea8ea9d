package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// mixTol: two linears in a row and a sum over streams, results of about 1.
var mixTol = tolerance{abs: 2e-5, rel: 2e-5}

// mixCases checks metal.Mix, the device's fused path where it has one, and metal.ComposeMix against one reference.
func mixCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		rows, h, streams, low int
		f                     format
		inject                bool
	}{
		{0, 32, 2, 32, formats[0], true}, {1, 5, 1, 3, formats[0], true}, {3, 36, 3, 10, formats[2], false}, {4, 256, 4, 32, formats[3], true},
		{4, 256, 4, 32, formats[2], false}, {17, 64, 2, 32, formats[5], true},
	} {
		for _, fused := range []bool{true, false} {
			name := fmt.Sprintf("%s-r%d-h%d-s%d-l%d-inject=%v", s.f, s.rows, s.h, s.streams, s.low, s.inject)
			op := map[bool]string{true: "Mix", false: "ComposeMix"}[fused]
			all = append(all, opCase{op, name, func(e *env) *call {
				w := s.h * s.streams
				norm, down, up := e.vec(w, e.near1), e.weight(s.f, 1, s.low, w), e.weight(s.f, 1, w, s.low)
				m := &metal.Mixer{Norm: norm.Vec(), Down: down.Weight, Up: up.Weight, Streams: s.streams, Eps: 1e-6}
				var inject *weight
				x, u := e.in(s.rows, w, e.normal), e.out(s.rows, s.h)
				c := metal.Mat{}
				outs := []*operand{u}
				if s.inject {
					inject = e.weight(s.f, 1, s.streams, w)
					m.Inject = inject.Weight
					o := e.out(s.rows, s.streams)
					outs = append(outs, o)
					c = o.Mat
				}
				scratch := metal.MixScratch{Normed: e.out(s.rows, w).Mat, Gate: e.out(s.rows, w).Mat, Low: e.out(s.rows, s.low).Mat}
				mix := metal.ComposeMix
				if fused {
					mix = metal.Mix
				}
				return &call{rows: s.rows, outs: outs, bytes: down.Bytes() + up.Bytes(),
					run: func(st metal.Stream, lo, hi int) {
						part := func(m metal.Mat) metal.Mat { return m.RowsOf(lo, hi-lo) }
						mix(st, part(u.Mat), part(c), part(x.Mat), m, metal.MixScratch{Normed: part(scratch.Normed), Gate: part(scratch.Gate), Low: part(scratch.Low)})
					},
					check: func() {
						var wantU, wantC []float64
						for r := range s.rows {
							normed := normRef(x.row(r), norm.row(0), s.streams, 1e-6)
							low, gate := make([]float64, s.low), make([]float64, w)
							for i := range low {
								low[i] = siluRef(dotRef(normed, down.row(0, i)) / float64(s.streams))
							}
							for i := range gate {
								gate[i] = dotRef(low, up.row(0, i))
							}
							wantU = append(wantU, mixStreamsRef(gate, normed, s.streams)...)
							for i := range s.streams {
								if s.inject {
									wantC = append(wantC, 2*sigmoidRef(dotRef(normed, inject.row(0, i))/float64(s.streams)))
								}
							}
						}
						e.near(op+" u", s.h, u.read(), wantU, mixTol)
						if s.inject {
							e.near(op+" c", s.streams, outs[1].read(), wantC, mixTol)
						}
					},
				}
			}})
		}
	}
	return all
}

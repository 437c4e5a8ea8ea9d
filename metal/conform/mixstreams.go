package conform

import "github.com/flashlane/flashlane/metal"

// mixStreamsTol: S terms of magnitude about 1 with 4 roundings each; terms may cancel, hence abs.
var mixStreamsTol = tolerance{abs: 1e-6, rel: 2e-6}

func mixStreamsCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, h, streams int
	}{{"empty", 0, 4, 2}, {"one", 1, 1, 1}, {"odd", 5, 19, 3}, {"nano", 4, 256, 4}, {"prefill", 64, 256, 4}, {"released", 4, 2560, 4}} {
		all = append(all, opCase{"MixStreams", s.name, func(e *env) *call {
			mix, normed, u := e.in(s.rows, s.h*s.streams, e.scaled(3)), e.in(s.rows, s.h*s.streams, e.normal), e.out(s.rows, s.h)
			return &call{rows: s.rows, outs: []*operand{u}, bytes: int64(4 * s.rows * s.h * (2*s.streams + 1)),
				run: func(st metal.Stream, lo, hi int) {
					st.MixStreams(u.RowsOf(lo, hi-lo), mix.RowsOf(lo, hi-lo), normed.RowsOf(lo, hi-lo), s.streams)
				},
				check: func() {
					var want []float64
					for r := range s.rows {
						want = append(want, mixStreamsRef(mix.row(r), normed.row(r), s.streams)...)
					}
					e.near("MixStreams", s.h, u.read(), want, mixStreamsTol)
				},
			}
		}})
	}
	return all
}

// mixStreamsRef mixes one row.
func mixStreamsRef(mix, normed []float64, streams int) []float64 {
	h := len(mix) / streams
	u := make([]float64, h)
	for i := range mix {
		u[i%h] += sigmoidRef(mix[i]) * normed[i] / float64(streams)
	}
	return u
}

package conform

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

// argMaxCases is exact: comparisons only. Values are whole numbers from a small range, so ties are common.
func argMaxCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
		low, high  int
	}{
		{"empty", 0, 4, 0, 1}, {"one", 1, 1, -3, -3}, {"ties", 40, 19, -2, 1}, {"all-equal", 3, 33, -5, -5}, {"negative", 5, 70, -900, -1},
		{"vocab", 4, 8192, -30000, 30000},
	} {
		all = append(all, opCase{"ArgMax", s.name, func(e *env) *call {
			x := e.in(s.rows, s.cols, func() float32 { return float32(s.low + e.rng.IntN(s.high-s.low+1)) })
			ids := e.outInts(s.rows, 1)
			return &call{rows: s.rows, outs: []*operand{ids}, bytes: int64(4 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) { st.ArgMax(ids.RowsOf(lo, hi-lo), x.RowsOf(lo, hi-lo)) },
				check: func() {
					for r, got := range ids.ints() {
						want := 0
						for c, v := range x.row(r) {
							if v > x.at(r, want) {
								want = c
							}
						}
						if int(got) != want {
							e.tb.Errorf("ArgMax row %d of %d: got %d (%g), want %d (%g)", r, s.cols, got, x.at(r, int(got)), want, x.at(r, want))
						}
					}
				},
			}
		}})
	}
	all = append(all, opCase{"ArgMax", "not-finite", func(e *env) *call {
		x, ids := e.in(3, 20, e.normal), e.outInts(3, 1)
		for i := range 20 {
			x.host(0)[i] = float32(math.Inf(-1))
		}
		x.host(1)[7] = float32(math.Inf(1))
		x.host(1)[9] = float32(math.Inf(1))
		poison(x.host(2))
		x.reset()
		return &call{rows: 3, outs: []*operand{ids},
			run: func(st metal.Stream, lo, hi int) { st.ArgMax(ids.RowsOf(lo, hi-lo), x.RowsOf(lo, hi-lo)) },
			check: func() {
				got := ids.ints()
				if got[0] != 0 || got[1] != 7 || got[2] < 0 || got[2] >= 20 {
					t := "ArgMax of all -Inf, of +Inf at 7 and 9, of all NaN: got %v, want 0, 7 and any index below 20"
					e.tb.Errorf(t, got)
				}
			},
		}
	}})
	return all
}

package conform

import (
	"math"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// routeTol: an exponential, a sum of positive terms and one or two divisions.
var routeTol = tolerance{abs: 1e-30, rel: 4e-6}

func routeCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name             string
		rows, experts, k int
		renorm           bool
	}{
		{"empty", 0, 4, 2, true}, {"one", 1, 1, 1, true}, {"all", 3, 5, 5, false}, {"odd", 9, 7, 3, true}, {"nano", 4, 16, 4, true},
		{"nano-raw", 4, 16, 4, false}, {"released", 33, 512, 10, true},
	} {
		all = append(all, opCase{"Route", s.name, func(e *env) *call {
			// Steps of a half: ties are common and anything else is far apart, so the choice is exact.
			logits := e.in(s.rows, s.experts, func() float32 { return float32(e.rng.IntN(17)-8) / 2 })
			ids, w := e.outInts(s.rows, s.k), e.out(s.rows, s.k)
			return &call{rows: s.rows, outs: []*operand{ids, w}, bytes: int64(4 * s.rows * s.experts),
				run: func(st metal.Stream, lo, hi int) {
					st.Route(ids.RowsOf(lo, hi-lo), w.RowsOf(lo, hi-lo), logits.RowsOf(lo, hi-lo), s.renorm)
				},
				check: func() {
					got := ids.ints()
					var want []float64
					for r := range s.rows {
						top, p := routeRef(logits.row(r), s.k, s.renorm)
						if !slices.Equal(got[r*s.k:][:s.k], top) {
							e.tb.Errorf("Route row %d: got ids %v, want %v", r, got[r*s.k:][:s.k], top)
						}
						want = append(want, p...)
					}
					e.near("Route weights", s.k, w.read(), want, routeTol)
				},
			}
		}})
	}
	all = append(all, opCase{"Route", "not-finite", func(e *env) *call {
		logits := e.in(4, 9, e.normal)
		poison(logits.host(0))
		logits.host(1)[4] = float32(math.NaN())
		logits.host(2)[0] = float32(math.Inf(1))
		poison(logits.host(3)[:8])
		logits.reset()
		ids, w := e.outInts(4, 3), e.out(4, 3)
		return &call{rows: 4, outs: []*operand{ids, w},
			run: func(st metal.Stream, lo, hi int) {
				st.Route(ids.RowsOf(lo, hi-lo), w.RowsOf(lo, hi-lo), logits.RowsOf(lo, hi-lo), true)
			},
			check: func() {
				got := ids.ints()
				for r := range 4 {
					row := got[r*3:][:3]
					if row[0] < 0 || row[0] >= row[1] || row[1] >= row[2] || row[2] > 8 {
						e.tb.Errorf("Route row %d with NaN or infinity: got ids %v, want three ascending ids below 9", r, row)
					}
				}
			},
		}
	}})
	return all
}

// routeRef is the k largest probabilities with their ids, ascending by id (spec 2.6).
func routeRef(logits []float64, k int, renorm bool) ([]int32, []float64) {
	z, top := 0.0, slices.Max(logits)
	p := make([]float64, len(logits))
	order := make([]int32, len(logits))
	for i, v := range logits {
		p[i] = math.Exp(v - top)
		z += p[i]
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	ids := order[:k]
	slices.Sort(ids)
	if renorm {
		z = 0
		for _, id := range ids {
			z += p[id]
		}
	}
	w := make([]float64, k)
	for j, id := range ids {
		w[j] = p[id] / z
	}
	return ids, w
}

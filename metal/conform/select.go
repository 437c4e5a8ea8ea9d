package conform

import (
	"cmp"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// selectSlack: on values that are not whole numbers a device's score differs from the exact one by the roundings of a dot
// of a few hundred terms of about 1. Such a device may swap blocks whose scores are this close and no others.
const selectSlack = 1e-4

func selectCases() []opCase {
	type span struct{ n, pos, blocks int } // rows, first position, blocks in the bank
	var all []opCase
	for _, s := range []struct {
		name                   string
		spans                  []span
		heads, dim, ratio, top int
		whole                  int // q and keys are whole numbers up to this, so scores are exact and ties real; 0: normal values
	}{
		{"empty", []span{{0, 0, 0}}, 2, 8, 4, 3, 2},
		{"dense", []span{{5, 0, 0}, {3, 11, 2}}, 2, 8, 4, 8, 2},
		{"ties", []span{{9, 15, 4}, {1, 40, 10}, {0, 9, 2}, {4, 2, 0}}, 3, 5, 3, 4, 1},
		{"all-zero", []span{{4, 60, 15}}, 2, 7, 4, 5, 0},
		{"exact", []span{{6, 300, 75}}, 4, 32, 4, 64, 3},
		{"no-bank", []span{{40, 0, 0}}, 4, 20, 3, 8, 2},
		{"normal", []span{{4, 500, 125}}, 4, 32, 4, 64, -1},
		{"long", []span{{3, 9000, 2250}}, 4, 32, 4, 64, 2},
		{"one-of-many", []span{{4, 90, 22}}, 1, 16, 4, 1, 2},
		{"ratio-1", []span{{4, 30, 30}}, 2, 9, 1, 7, 2},
	} {
		all = append(all, opCase{"Select", s.name, func(e *env) *call {
			value := e.whole(s.whole)
			if s.whole < 0 {
				value = e.normal
			}
			rows := 0
			var ns []int
			for _, sp := range s.spans {
				ns = append(ns, sp.n)
				rows += sp.n
			}
			qi, sel := e.in(rows, s.heads*s.dim, value), e.outInts(rows, s.top)
			var spans []metal.SelectSpan
			var banks, fresh []*operand
			at, bytes := 0, 0
			for _, sp := range s.spans {
				// The bank has room for more rows than it has blocks; what lies there must not be seen.
				bank := e.in(sp.blocks+3, s.dim, value)
				for b := sp.blocks; b < sp.blocks+3; b++ {
					poison(bank.host(b))
				}
				bank = e.repack(bank)
				scratch := e.repack(e.in(max(0, (sp.pos+sp.n)/s.ratio-sp.blocks), s.dim, value))
				spans = append(spans, metal.SelectSpan{Span: metal.Span{Row: at, N: sp.n, Pos: sp.pos}, Bank: bank.Vec(), Blocks: sp.blocks, Scratch: scratch.Vec()})
				banks, fresh = append(banks, bank), append(fresh, scratch)
				at += sp.n
				bytes += 4 * sp.n * (sp.pos / s.ratio) * s.dim
			}
			return &call{rows: rows, outs: []*operand{sel}, bytes: int64(bytes),
				run: func(st metal.Stream, lo, hi int) {
					var parts []metal.SelectSpan
					clip(ns, lo, hi, func(k, from, n int) {
						sp := spans[k]
						sp.Row, sp.Pos, sp.N = sp.Row+from, sp.Pos+from, n
						parts = append(parts, sp)
					})
					st.Select(sel.Mat, qi.Mat, s.heads, s.dim, s.ratio, s.top, parts)
				},
				check: func() {
					got := sel.ints()
					for k, sp := range spans {
						for i := range sp.N {
							nb := (sp.Pos + i + 1) / s.ratio
							scores := make([]float64, nb)
							for b := range scores {
								key := fresh[k].part(b-sp.Blocks, s.dim)
								if b < sp.Blocks {
									key = banks[k].part(b, s.dim)
								}
								for h := range s.heads {
									scores[b] += max(0, dotRef(qi.row(sp.Row + i)[h*s.dim:][:s.dim], key))
								}
							}
							checkSelected(e, sp.Row+i, got[(sp.Row+i)*s.top:][:s.top], scores, s.whole >= 0)
						}
					}
				},
			}
		}})
	}
	return all
}

// checkSelected compares a row's ids with those of the largest scores, ties to the lowest; what is past them stays 0.
func checkSelected(e *env, row int, got []int32, scores []float64, exact bool) {
	e.tb.Helper()
	order := make([]int32, len(scores))
	for b := range order {
		order[b] = int32(b)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	n := min(len(got), len(scores))
	want := slices.Clone(order[:n])
	slices.Sort(want)
	for _, v := range got[n:] {
		if v != 0 {
			e.tb.Errorf("Select row %d: wrote past its %d blocks: %v", row, n, got)
			return
		}
	}
	if slices.Equal(got[:n], want) {
		return
	}
	if exact {
		e.tb.Errorf("Select row %d of %d blocks: got %v, want %v", row, len(scores), got[:n], want)
		return
	}
	least := scores[order[n-1]] // the smallest score that belongs to the top
	for j, b := range got[:n] {
		if b < 0 || int(b) >= len(scores) || j > 0 && b <= got[j-1] {
			e.tb.Errorf("Select row %d of %d blocks: got %v, want ascending blocks", row, len(scores), got[:n])
			return
		}
		if scores[b] < least-selectSlack {
			e.tb.Errorf("Select row %d of %d blocks: chose block %d of score %g, the top ends at %g", row, len(scores), b, scores[b], least)
		}
	}
	for _, b := range want {
		if _, ok := slices.BinarySearch(got[:n], b); !ok && scores[b] > least+selectSlack {
			e.tb.Errorf("Select row %d of %d blocks: left out block %d of score %g, the top ends at %g", row, len(scores), b, scores[b], least)
		}
	}
}

// part is row b of a vector of rows of n values.
func (o *operand) part(b, n int) []float64 {
	if b < 0 {
		return nil
	}
	return wide(o.host(0)[b*n:][:n])
}

// repack makes the rows of m one vector.
func (e *env) repack(m *operand) *operand {
	var x []float32
	for r := range m.Rows {
		x = append(x, m.host(r)...)
	}
	i := 0
	return e.vec(len(x), func() float32 { i++; return x[i-1] })
}

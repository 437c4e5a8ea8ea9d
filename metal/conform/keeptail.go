package conform

import "github.com/flashlane/flashlane/metal"

// keepTailCases moves values only: exact.
func keepTailCases() []opCase {
	type span struct{ n, keep int }
	var all []opCase
	for _, s := range []struct {
		name       string
		spans      []span
		tail, cols int
	}{
		{"no-tail", []span{{3, 2}}, 0, 5}, {"nothing-kept", []span{{4, 0}}, 3, 7}, {"empty", []span{{0, 0}}, 3, 7},
		{"short", []span{{4, 1}, {4, 2}}, 3, 17}, {"exact", []span{{3, 3}}, 3, 17}, {"long", []span{{9, 8}, {5, 0}, {6, 6}}, 3, 64},
		{"ple", []span{{4, 2}, {12, 12}}, 9, 1024},
	} {
		all = append(all, opCase{"KeepTail", s.name, func(e *env) *call {
			rows := 0
			for _, sp := range s.spans {
				rows += sp.n
			}
			src := e.in(rows, s.cols, e.normal)
			var spans []metal.TailSpan
			var outs, tails []*operand
			at := 0
			for _, sp := range s.spans {
				tail, next := e.vec(s.tail*s.cols, e.normal), e.out(1, s.tail*s.cols)
				spans = append(spans, metal.TailSpan{Span: metal.Span{Row: at, N: sp.n}, Keep: sp.keep, Tail: tail.Vec(), Next: next.Vec()})
				outs, tails = append(outs, next), append(tails, tail)
				at += sp.n
			}
			return &call{rows: rows, outs: outs, bytes: int64(8 * len(spans) * s.tail * s.cols), whole: true,
				run: func(st metal.Stream, _, _ int) { st.KeepTail(src.Mat, spans) },
				check: func() {
					for k, sp := range spans {
						all := append([]float32{}, tails[k].host(0)...)
						for i := range sp.Keep {
							all = append(all, src.host(sp.Row+i)...)
						}
						e.same("KeepTail", outs[k].bits(), words(all[len(all)-s.tail*s.cols:]))
					}
				},
			}
		}})
	}
	return all
}

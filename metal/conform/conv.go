package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// convTol: a handful of terms of about 1 that may cancel, then a silu.
var convTol = tolerance{abs: 1e-6, rel: 2e-6}

func convCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name                 string
		spans                []int // rows of each
		cols, taps, dilation int
	}{
		{"empty", []int{0}, 8, 4, 1}, {"one", []int{1}, 1, 1, 1}, {"odd", []int{3, 0, 1, 7}, 19, 3, 2}, {"gdn", []int{4, 2, 1}, 512, 4, 1},
		{"ple", []int{4, 12}, 1024, 4, 3}, {"prefill", []int{64}, 512, 4, 1},
	} {
		all = append(all, opCase{"Conv", s.name, func(e *env) *call {
			rows := total(s.spans)
			src, w, dst := e.in(rows, s.cols, e.normal), e.vec(s.taps*s.cols, e.scaled(0.6)), e.out(rows, s.cols)
			back := (s.taps - 1) * s.dilation
			spans, tails := make([]metal.ConvSpan, len(s.spans)), make([]*operand, len(s.spans))
			at := 0
			for k, n := range s.spans {
				tails[k] = e.vec(back*s.cols, e.normal)
				spans[k] = metal.ConvSpan{Span: metal.Span{Row: at, N: n, Pos: 5}, Tail: tails[k].Vec()}
				at += n
			}
			return &call{rows: rows, outs: []*operand{dst}, bytes: int64(8 * rows * s.cols), whole: true,
				run: func(st metal.Stream, _, _ int) { st.Conv(dst.Mat, src.Mat, w.Vec(), s.taps, s.dilation, spans) },
				check: func() {
					var want []float64
					for k, n := range s.spans {
						for i := range n {
							for c := range s.cols {
								sum := 0.0
								for j := range s.taps {
									v := 0.0
									if t := i - s.dilation*(s.taps-1-j); t >= 0 {
										v = src.at(spans[k].Row+t, c)
									} else {
										v = tails[k].at(0, (back+t)*s.cols+c)
									}
									sum += w.at(0, j*s.cols+c) * v
								}
								want = append(want, siluRef(sum))
							}
						}
					}
					e.near("Conv", s.cols, dst.read(), want, convTol)
					whole := dst.bits()
					for _, step := range []int{1, 2, 5} {
						dst.reset()
						convInSteps(e, dst.Mat, src.Mat, w.Vec(), s.taps, s.dilation, spans, step)
						e.same(fmt.Sprintf("Conv in passes of %d rows joined by KeepTail, against one pass", step), dst.bits(), whole)
					}
					for k, tail := range tails {
						e.same(fmt.Sprintf("Conv: tail %d after the op", k), tail.bits(), words(tail.host(0)))
					}
				},
			}
		}})
	}
	return all
}

// convInSteps runs each span in passes of at most step rows, carrying the tail over by KeepTail.
func convInSteps(e *env, dst, src metal.Mat, w metal.Vec, taps, dilation int, spans []metal.ConvSpan, step int) {
	for _, sp := range spans {
		for from := 0; from < sp.N; from += step {
			part := sp
			part.Row, part.N = sp.Row+from, min(step, sp.N-from)
			e.st.Conv(dst, src, w, taps, dilation, []metal.ConvSpan{part})
			next := e.out(1, sp.Tail.N).Vec()
			e.st.KeepTail(src, []metal.TailSpan{{Span: part.Span, Keep: part.N, Tail: sp.Tail, Next: next}})
			sp.Tail = next
		}
	}
}

func total(ns []int) int {
	sum := 0
	for _, n := range ns {
		sum += n
	}
	return sum
}

package conform

import "github.com/flashlane/flashlane/metal"

// transferCases covers Write and Read (by way of every operand), Copy, CopyRows and Zero. They move values: exact.
func transferCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name       string
		rows, cols int
	}{{"empty", 0, 5}, {"one", 1, 1}, {"odd", 5, 17}, {"wide", 3, 1024}} {
		all = append(all, opCase{"CopyRows", s.name, func(e *env) *call {
			src, dst := e.in(s.rows, s.cols, e.normal), e.out(s.rows, s.cols)
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(8 * s.rows * s.cols),
				run:   func(st metal.Stream, lo, hi int) { st.CopyRows(dst.RowsOf(lo, hi-lo), src.RowsOf(lo, hi-lo)) },
				check: func() { e.same("CopyRows", dst.bits(), src.bits()) },
			}
		}}, opCase{"Copy", s.name, func(e *env) *call {
			src, dst := e.in(s.rows, s.cols, e.normal), e.out(s.rows, s.cols)
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(8 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) {
					for r := lo; r < hi; r++ {
						st.Copy(dst.Row(r), src.Row(r))
					}
				},
				check: func() { e.same("Copy", dst.bits(), src.bits()) },
			}
		}}, opCase{"Zero", s.name, func(e *env) *call {
			dst := e.out(s.rows, s.cols)
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(4 * s.rows * s.cols),
				run: func(st metal.Stream, lo, hi int) {
					for r := lo; r < hi; r++ {
						st.Zero(dst.Row(r))
					}
				},
				check: func() { e.same("Zero", dst.bits(), make([]uint32, s.rows*s.cols)) },
			}
		}}, opCase{"CopyInts", s.name, func(e *env) *call {
			src, dst := e.outInts(s.rows, 1), e.outInts(s.rows, 1)
			e.st.ArgMax(src.Mat, e.in(s.rows, s.cols, e.normal).Mat)
			return &call{rows: s.rows, outs: []*operand{dst}, bytes: int64(8 * s.rows),
				run:   func(st metal.Stream, lo, hi int) { st.CopyRows(dst.RowsOf(lo, hi-lo), src.RowsOf(lo, hi-lo)) },
				check: func() { e.same("CopyRows of ints", dst.bits(), src.bits()) },
			}
		}})
	}
	return all
}

package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// embedTol: affine rows are one product and one addition in f32 (a device may fuse them); the others are exact.
func embedTol(f format) tolerance {
	if f.group == 0 {
		return tolerance{}
	}
	return tolerance{abs: 1e-7, rel: 1e-6}
}

func embedCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		ids            []int32
		vocab, h, copy int
	}{
		{nil, 3, 32, 2}, {[]int32{0}, 1, 32, 1}, {[]int32{6, 0, 6, 3}, 7, 21, 3}, {[]int32{10, 299, 0}, 300, 256, 4},
	} {
		for _, f := range formats {
			if !f.fits(s.h) {
				continue
			}
			all = append(all, opCase{"Embed", fmt.Sprintf("%s-r%d-v%d-h%d-s%d", f, len(s.ids), s.vocab, s.h, s.copy), func(e *env) *call {
				w, dst := e.weight(f, 1, s.vocab, s.h), e.out(len(s.ids), s.h*s.copy)
				return &call{rows: len(s.ids), outs: []*operand{dst}, bytes: int64(4 * len(s.ids) * s.h * s.copy),
					run: func(st metal.Stream, lo, hi int) { st.Embed(dst.RowsOf(lo, hi-lo), w.Weight, s.ids[lo:hi], s.copy) },
					check: func() {
						var want []float64
						for _, id := range s.ids {
							for range s.copy {
								want = append(want, w.row(0, int(id))...)
							}
						}
						e.near("Embed", dst.Cols, dst.read(), want, embedTol(f))
					},
				}
			}})
		}
	}
	return all
}

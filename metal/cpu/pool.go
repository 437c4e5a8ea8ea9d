package cpu

import "github.com/flashlane/flashlane/metal"

// Pool makes pooled index keys, spec 2.5: mean of the block's raw keys (added in ascending position, starting from the
// first, then divided by the count), norm, rope at the block's first position.
func (s *stream) Pool(w metal.Vec, dim, ratio int, eps float32, spans []metal.PoolSpan) {
	wv, blocks := vecOf(w), 0
	for i := range spans {
		sp := &spans[i]
		if sp.N == 0 {
			continue
		}
		if len(wv) != dim || ratio < 1 || sp.Block < 0 || (sp.Block+sp.N)*ratio*dim > sp.Raw.N || sp.Dst.Rows != sp.N || sp.Dst.Cols != dim ||
			sp.Angle.Rows != sp.N || sp.Angle.Cols%2 != 0 || sp.Angle.Cols > dim {
			want(false, "Pool", "span %d: blocks %d+%d of %d, raw [%d], dim %d, w [%d], dst [%d %d], angles [%d %d]", i, sp.Block, sp.N, ratio,
				sp.Raw.N, dim, len(wv), sp.Dst.Rows, sp.Dst.Cols, sp.Angle.Rows, sp.Angle.Cols)
		}
		blocks += sp.N
	}
	k, grain := s.dev.kernels.simd(), rowGrain(dim*ratio, cheapGrain)
	if blocks <= grain {
		poolBlocks(k, wv, ratio, eps, spans, 0, blocks)
		return
	}
	s.parallel(blocks, grain, func(lo, hi int) { poolBlocks(k, wv, ratio, eps, spans, lo, hi) })
}

// poolBlocks makes blocks lo..hi-1 of all spans laid end to end.
func poolBlocks(v simd, w []float32, ratio int, eps float32, spans []metal.PoolSpan, lo, hi int) {
	dim, base := len(w), 0
	for k := range spans {
		sp := &spans[k]
		from, to := max(lo-base, 0), min(hi-base, sp.N)
		base += sp.N
		if from >= to {
			continue
		}
		raw, dst, angle := vecOf(sp.Raw), matOf(sp.Dst), matOf(sp.Angle)
		for i := from; i < to; i++ {
			y := dst.row(i)
			x := raw[(sp.Block+i)*ratio*dim:][:ratio*dim]
			copy(y, x[:dim])
			for j := 1; j < ratio; j++ {
				for c, v := range x[j*dim : (j+1)*dim] {
					y[c] += v
				}
			}
			for c := range y {
				y[c] /= float32(ratio)
			}
			rmsNorm(v, y, y, w, eps)
			rotate(y, angle.row(i))
		}
	}
}

package cpu

import "github.com/flashlane/flashlane/metal"

// MixStreams sets u = (1/S) * sum_s sigmoid(mix[s])*normed[s], spec 2.2: products rounded, streams ascending, the sum
// starting from the first product, 1/S rounded to f32.
func (s *stream) MixStreams(u, mix, normed metal.Mat, streams int) {
	d, m, n := matOf(u), matOf(mix), matOf(normed)
	if m.rows != d.rows || n.rows != d.rows || streams < 1 || m.cols != streams*d.cols || n.cols != m.cols {
		want(false, "MixStreams", "u [%d %d], mix [%d %d], normed [%d %d], %d streams", d.rows, d.cols, m.rows, m.cols, n.rows, n.cols, streams)
	}
	k, grain := s.dev.kernels, rowGrain(m.cols, sweepGrain)
	if d.rows <= grain {
		mixRows(k, d, m, n, streams, 0, d.rows)
		return
	}
	s.parallel(d.rows, grain, func(lo, hi int) { mixRows(k, d, m, n, streams, lo, hi) })
}

func mixRows(k *kernelSet, u, mix, normed mat, streams, lo, hi int) {
	inv := 1 / float32(streams)
	h := u.cols
	for r := lo; r < hi; r++ {
		y, m, n := u.row(r), mix.row(r), normed.row(r)
		k.sigmoidMul(y, m[:h], n[:h])
		for o := h; o < len(m); o += h {
			k.addGated(y, m[o:o+h], n[o:o+h])
		}
		for i := range y {
			y[i] *= inv
		}
	}
}

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
	for r := lo; r < hi; r++ {
		mixStreams(k, u.row(r), mix.row(r), normed.row(r), u.cols, u.cols, streams)
	}
}

// mixStreams does one row, or some columns of it: stream s begins at m[s*mStep] and z[s*zStep].
func mixStreams(k *kernelSet, u, m, z []float32, mStep, zStep, streams int) {
	inv, done := 1/float32(streams), 0
	if streams == 4 {
		done = headMix(k.simd(), u, m, z, mStep, zStep, inv)
	}
	y := u[done:]
	if len(y) == 0 {
		return
	}
	k.sigmoidMul(y, m[done:][:len(y)], z[done:][:len(y)])
	for s := 1; s < streams; s++ {
		k.addGated(y, m[s*mStep+done:][:len(y)], z[s*zStep+done:][:len(y)])
	}
	for i := range y {
		y[i] *= inv
	}
}

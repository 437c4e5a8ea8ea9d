package cpu

import "github.com/flashlane/flashlane/metal"

// sigmoid is 1/(1+exp(-x)), every step rounded to f32.
func sigmoid(x float32) float32 { return 1 / (1 + expf32(-x)) }

// silu is x/(1+exp(-x)), every step rounded to f32.
func silu(x float32) float32 { return x / (1 + expf32(-x)) }

// siluMul sets dst[i] = float32(silu(g[i]) * u[i]). dst may be g or u; all have the same length.
func siluMul(dst, g, u []float32) {
	g = g[:len(dst)]
	u = u[:len(dst)]
	for i := range dst {
		dst[i] = float32(silu(g[i]) * u[i])
	}
}

// siluScale sets x[i] = silu(x[i]*scale).
func siluScale(x []float32, scale float32) {
	for i, v := range x {
		x[i] = silu(float32(v * scale))
	}
}

// sweepGrain is the number of exponentials worth handing to another thread: about a microsecond, where handing over takes a
// quarter of one (BenchmarkFork).
const sweepGrain = 2048

// rowGrain is the number of rows of cols elements worth handing to another thread.
func rowGrain(cols, grain int) int {
	if cols >= grain {
		return 1
	}
	return (grain + cols - 1) / max(cols, 1)
}

// SiluScale sets x = silu(x*scale) in place.
func (s *stream) SiluScale(x metal.Mat, scale float32) {
	m := matOf(x)
	k, grain := s.dev.kernels, rowGrain(m.cols, sweepGrain)
	if m.rows <= grain {
		siluScaleRows(k, m, scale, 0, m.rows)
		return
	}
	s.parallel(m.rows, grain, func(lo, hi int) { siluScaleRows(k, m, scale, lo, hi) })
}

func siluScaleRows(k *kernelSet, m mat, scale float32, lo, hi int) {
	for n := 0; lo < hi; lo += n {
		n = min(hi-lo, endToEnd(m))
		k.siluScale(m.f[lo*m.stride:][:n*m.cols], scale)
	}
}

// sweepCall bounds the elements of one call of a sweep: assembly cannot be preempted, and the collector waits for it.
const sweepCall = 1 << 14

// endToEnd is the rows that one call of a sweep may take: one, unless the rows of all matrices lie end to end, which saves short rows the loops that they
// do not fill.
func endToEnd(all ...mat) int {
	n := max(1, sweepCall/max(1, all[0].cols))
	for i := range all {
		if all[i].stride != all[i].cols {
			n = 1
		}
	}
	return n
}

// SiluMul sets dst = silu(g) * u. dst may be g or u.
func (s *stream) SiluMul(dst, g, u metal.Mat) {
	md, mg, mu := matOf(dst), matOf(g), matOf(u)
	if mg.rows != md.rows || mu.rows != md.rows || mg.cols != md.cols || mu.cols != md.cols {
		want(false, "SiluMul",
			"dst [%d %d], g [%d %d], u [%d %d]", md.rows, md.cols, mg.rows, mg.cols, mu.rows, mu.cols)
	}
	k, grain := s.dev.kernels, rowGrain(md.cols, sweepGrain)
	if md.rows <= grain {
		siluMulRows(k, md, mg, mu, 0, md.rows)
		return
	}
	s.parallel(md.rows, grain, func(lo, hi int) { siluMulRows(k, md, mg, mu, lo, hi) })
}

func siluMulRows(k *kernelSet, dst, g, u mat, lo, hi int) {
	for n := 0; lo < hi; lo += n {
		n = min(hi-lo, endToEnd(dst, g, u))
		k.siluMul(dst.f[lo*dst.stride:][:n*dst.cols], g.f[lo*g.stride:][:n*g.cols], u.f[lo*u.stride:][:n*u.cols])
	}
}

// sigmoidMul sets dst[i] = float32(sigmoid(g[i]) * u[i]). dst may be g or u; all have the same length.
func sigmoidMul(dst, g, u []float32) {
	g = g[:len(dst)]
	u = u[:len(dst)]
	for i := range dst {
		dst[i] = float32(sigmoid(g[i]) * u[i])
	}
}

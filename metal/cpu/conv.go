package cpu

import "github.com/flashlane/flashlane/metal"

// Conv is the depthwise causal convolution with silu, spec 2.4 and 2.7.3. Per channel the taps are added in ascending j,
// products rounded, starting from the first product. Rows before the span come from its Tail.
func (s *stream) Conv(dst, src metal.Mat, w metal.Vec, taps, dilation int, spans []metal.ConvSpan) {
	d, m, wv := matOf(dst), matOf(src), vecOf(w)
	if taps < 1 || dilation < 1 || d.cols != m.cols || len(wv) != taps*m.cols {
		want(false, "Conv", "dst cols %d, src cols %d, w [%d], taps %d, dilation %d", d.cols, m.cols, len(wv), taps, dilation)
	}
	rows := 0
	for i := range spans {
		sp := &spans[i]
		if sp.N > 0 && (sp.Row < 0 || sp.Row+sp.N > m.rows || sp.Row+sp.N > d.rows) || sp.Tail.N != (taps-1)*dilation*m.cols {
			want(false, "Conv", "span %d: rows %d+%d of %d, tail %d, want %d", i, sp.Row, sp.N, m.rows, sp.Tail.N, (taps-1)*dilation*m.cols)
		}
		rows += sp.N
	}
	k, grain := s.dev.kernels, rowGrain(m.cols, sweepGrain)
	if rows <= grain {
		convRows(k, d, m, wv, taps, dilation, spans, 0, rows)
		return
	}
	s.parallel(rows, grain, func(lo, hi int) { convRows(k, d, m, wv, taps, dilation, spans, lo, hi) })
}

// convRows runs rows lo..hi-1 of all spans laid end to end.
func convRows(ks *kernelSet, dst, src mat, w []float32, taps, dilation int, spans []metal.ConvSpan, lo, hi int) {
	base := 0
	for k := range spans {
		sp := &spans[k]
		from, to := max(lo-base, 0), min(hi-base, sp.N)
		base += sp.N
		if from < to {
			convSpan(ks, dst, src, w, taps, dilation, sp, from, to, 0, src.cols)
		}
	}
}

// convSpan runs columns col..col+n-1 of rows from..to-1 of a span.
func convSpan(ks *kernelSet, dst, src mat, w []float32, taps, dilation int, sp *metal.ConvSpan, from, to, col, n int) {
	c, v := src.cols, ks.simd()
	var tail []float32
	if taps > 1 {
		tail = vecOf(sp.Tail)
	}
	back := (taps - 1) * dilation
	// input is what tap j of row i sees.
	input := func(i, j int) []float32 {
		if at := i - dilation*(taps-1-j); at >= 0 {
			return src.row(sp.Row + at)[col : col+n]
		} else {
			return tail[(back+at)*c+col:][:n]
		}
	}
	for i := from; i < to; i++ {
		y, done, silu := dst.row(sp.Row + i)[col:col+n], 0, false
		if taps == 4 {
			done, silu = headConv4(v, y, &[4][]float32{input(i, 0), input(i, 1), input(i, 2), input(i, 3)}, w[col:], c)
		}
		if done < n {
			for j := range taps {
				convTap(v, y[done:], input(i, j)[done:], w[j*c+col+done:][:n-done], j == 0)
			}
		}
		if silu {
			y = y[done:]
		}
		ks.siluScale(y, 1)
	}
}

// convTap adds w*x to y, or sets y to it when first.
func convTap(k simd, y, x, w []float32, first bool) {
	x, w = x[:len(y)], w[:len(y)]
	if first {
		for i := headMul(k, y, x, w); i < len(y); i++ {
			y[i] = float32(w[i] * x[i])
		}
		return
	}
	for i := headMulAdd(k, y, x, w); i < len(y); i++ {
		y[i] += float32(w[i] * x[i])
	}
}

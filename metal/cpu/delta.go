package cpu

import "github.com/flashlane/flashlane/metal"

// deltaEps is added to the sum of squares of q and k (spec 2.4; a constant of the family, not rms_norm_eps).
const deltaEps = 1e-6

// Delta is the gated delta rule in its recurrent form, spec 2.4. Per row and value head, with every product rounded and
// sums over the key axis sequential and ascending from 0, once per value column:
//
//	q, k: x * (1/sqrt(sum x^2 + 1e-6)), sum by the lane rule; then q * KeyDim^-0.5
//	S[i] = decay*S[i];  p = sum_i S[i]*k[i];  d = beta*(v - p)
//	S[i] = S[i] + k[i]*d;  o = sum_i S[i]*q[i]
//
// The work is split by span and value head. The cost is 2 sweeps of S per row.
func (s *stream) Delta(o, qkv, beta, decay metal.Mat, shape metal.DeltaShape, spans []metal.DeltaSpan) {
	mo, mx, mb, md := matOf(o), matOf(qkv), matOf(beta), matOf(decay)
	qk := shape.KeyHeads * shape.KeyDim
	values := shape.ValueHeads * shape.ValueDim
	state := shape.ValueHeads * shape.KeyDim * shape.ValueDim
	if mx.cols != 2*qk+values || mo.rows > 0 && (mo.cols != values || mo.rows != mx.rows) || mb.cols != shape.ValueHeads ||
		md.cols != shape.ValueHeads || mb.rows != mx.rows || md.rows != mx.rows || shape.ValueHeads%shape.KeyHeads != 0 {
		want(false, "Delta", "o [%d %d], qkv [%d %d], beta [%d %d], decay [%d %d], shape %+v", mo.rows, mo.cols, mx.rows, mx.cols,
			mb.rows, mb.cols, md.rows, md.cols, shape)
	}
	rows := 0
	for i := range spans {
		sp := &spans[i]
		if sp.State.N != state || sp.Next.N != state || sp.N > 0 && (sp.Row < 0 || sp.Row+sp.N > mx.rows) {
			want(false, "Delta", "span %d: rows %d+%d of %d, state %d, next %d, want %d", i, sp.Row, sp.N, mx.rows, sp.State.N, sp.Next.N, state)
		}
		rows += sp.N
	}
	units := len(spans) * shape.ValueHeads
	k := s.dev.kernels.simd()
	if 2*rows*state <= cheapGrain {
		deltaUnits(k, mo, mx, mb, md, shape, spans, 0, units)
		return
	}
	s.parallel(units, 1, func(lo, hi int) { deltaUnits(k, mo, mx, mb, md, shape, spans, lo, hi) })
}

// deltaPiece is the rows that go through the value heads of a key head together, so that their norms stay in the first cache; it also bounds
// the time that assembly, which cannot be preempted, takes.
const deltaPiece = 64

// deltaUnits runs the units lo..hi-1; unit u is value head u mod ValueHeads of span u / ValueHeads.
func deltaUnits(w simd, o, qkv, beta, decay mat, shape metal.DeltaShape, spans []metal.DeltaSpan, lo, hi int) {
	kd, vd := shape.KeyDim, shape.ValueDim
	qk, group := shape.KeyHeads*kd, shape.ValueHeads/shape.KeyHeads
	c := takeScratch(2*kd*(deltaPiece+1) + vd)
	defer c.free()
	norm, scale, one, d := c.f[:2*kd*deltaPiece], c.f[2*kd*deltaPiece:][:kd], c.f[2*kd*deltaPiece+kd:][:kd], c.f[2*kd*(deltaPiece+1):]
	for i := range kd {
		scale[i], one[i] = 1/sqrt32(float32(kd)), 1
	}
	for lo < hi {
		sp, first := &spans[lo/shape.ValueHeads], lo%shape.ValueHeads
		kh := first / group
		heads := min(hi-lo, (kh+1)*group-first) // with the same keys
		lo += heads
		from := vecOf(sp.State)
		if sp.N == 0 {
			copy(vecOf(sp.Next)[first*kd*vd:(first+heads)*kd*vd], from[first*kd*vd:])
			continue
		}
		for at := 0; at < sp.N; at += deltaPiece {
			row, n := sp.Row+at, min(deltaPiece, sp.N-at)
			steps := normSteps{y: 2 * kd, x: qkv.stride}
			norms(w, norm[kd:], qkv.part(row, n, qk+kh*kd, kd).f, one, steps, kd, n, 1, deltaEps)
			norms(w, norm, qkv.part(row, n, kh*kd, kd).f, scale, steps, kd, n, 1, deltaEps)
			for h := first; h < first+heads; h++ {
				var out mat
				if o.rows > 0 {
					out = o.part(row, n, h*vd, vd)
				}
				deltaRows(w, vecOf(sp.Next)[h*kd*vd:(h+1)*kd*vd], from[h*kd*vd:(h+1)*kd*vd], norm, qkv.part(row, n, 2*qk+h*vd, vd), out,
					beta.part(row, n, h, 1), decay.part(row, n, h, 1), d)
			}
			from = vecOf(sp.Next)
		}
	}
}

// deltaRows takes the state of one value head through some rows: from [keys, cols] becomes state (they may be the same). norm is q and k
// of each row, v and out (no rows: unwanted) its columns of the head. d is scratch, [cols].
func deltaRows(w simd, state, from, norm []float32, v, out, beta, decay mat, d []float32) {
	if headDeltaRows(w, state, from, norm, v, out, beta, decay) {
		return
	}
	kd := len(state) / v.cols
	for r := range v.rows {
		var o []float32
		if out.rows > 0 {
			o = out.row(r)
		}
		deltaStep(w, state, from, norm[(2*r+1)*kd:][:kd], norm[2*r*kd:][:kd], v.row(r), o, d, decay.row(r)[0], beta.row(r)[0])
		from = state
	}
}

// deltaStep runs one row of one value head: from [keys, cols] becomes state (they may be the same), out (nil: unwanted) is
// its product with q. d is scratch, [cols].
func deltaStep(w simd, state, from, k, q, v, out, d []float32, decay, beta float32) {
	n := len(v)
	c := headDelta(w, state, from, k, q, v, out, decay, beta)
	if c == n {
		return
	}
	v, d = v[c:], d[:n-c]
	clear(d)
	for i, ki := range k {
		src, dst := from[i*n+c:][:len(d)], state[i*n+c:][:len(d)]
		for j := range d {
			s := float32(decay * src[j])
			dst[j] = s
			d[j] += float32(s * ki)
		}
	}
	for j := range d {
		d[j] = float32(beta * (v[j] - d[j]))
	}
	if out == nil {
		for i, ki := range k {
			row := state[i*n+c:][:len(d)]
			for j, dj := range d {
				row[j] += float32(ki * dj)
			}
		}
		return
	}
	out = out[c:][:len(d)]
	clear(out)
	for i, ki := range k {
		row, qi := state[i*n+c:][:len(d)], q[i]
		for j, dj := range d {
			s := row[j] + float32(ki*dj)
			row[j] = s
			out[j] += float32(s * qi)
		}
	}
}

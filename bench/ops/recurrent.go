package ops

import "github.com/flashlane/flashlane/metal"

// Conv times metal.Stream.Conv.
func (s *Stream) Conv(dst, src metal.Mat, w metal.Vec, taps, dilation int, spans []metal.ConvSpan) {
	s.begin()
	s.in.Conv(dst, src, w, taps, dilation, spans)
	tails := float64(len(spans)) * float64((taps-1)*dilation) * float64(src.Cols)
	s.end("Conv", "", work{rows: src.Rows, bytes: moved(2*size(src), tails, float64(w.N)), flops: size(src) * (2*float64(taps) + hard)})
}

// KeepTail times metal.Stream.KeepTail.
func (s *Stream) KeepTail(src metal.Mat, spans []metal.TailSpan) {
	s.begin()
	s.in.KeepTail(src, spans)
	n := 0.0
	for _, p := range spans {
		n += float64(p.Next.N)
	}
	s.end("KeepTail", "", work{rows: src.Rows, bytes: moved(2 * n)})
}

// Decay times metal.Stream.Decay.
func (s *Stream) Decay(beta, decay, b, a metal.Mat, rate, bias metal.Vec) {
	s.begin()
	s.in.Decay(beta, decay, b, a, rate, bias)
	s.end("Decay", "", work{rows: a.Rows, bytes: moved(4 * size(a)), flops: 3 * hard * size(a)})
}

// Delta times metal.Stream.Delta. Per row and head the state is decayed, read with k, corrected and, if there is an output,
// read with q; it is loaded and stored once per span.
func (s *Stream) Delta(o, qkv, beta, decay metal.Mat, shape metal.DeltaShape, spans []metal.DeltaSpan) {
	s.begin()
	s.in.Delta(o, qkv, beta, decay, shape, spans)
	state := float64(shape.ValueHeads) * float64(shape.KeyDim) * float64(shape.ValueDim)
	rows, per := 0, 5.0
	for _, p := range spans {
		rows += p.N
	}
	if o.Rows > 0 {
		per += 2
	}
	s.end("Delta", "", work{rows: rows, bytes: moved(2*state*float64(len(spans)), size(qkv), size(o), 2*size(beta)), flops: per * state * float64(rows)})
}

// GatedNorm times metal.Stream.GatedNorm.
func (s *Stream) GatedNorm(dst, o, z metal.Mat, w metal.Vec, eps float32, act metal.Activation) {
	s.begin()
	s.in.GatedNorm(dst, o, z, w, eps, act)
	s.end("GatedNorm", "", work{rows: o.Rows, bytes: moved(3 * size(o)), flops: (hard + 5) * size(o)})
}

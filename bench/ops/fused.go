package ops

import (
	"math"

	"github.com/flashlane/flashlane/metal"
)

var (
	_ metal.FusedMix          = (*Stream)(nil)
	_ metal.FusedDeltaNet     = (*Stream)(nil)
	_ metal.FusedMoE          = (*Stream)(nil)
	_ metal.FusedLinears      = (*Stream)(nil)
	_ metal.FusedLinearInject = (*Stream)(nil)
)

// fused is the wrapped stream's capability, unless the parts are wanted.
func fused[T any](s *Stream) (f T, ok bool) {
	if s.parts {
		return f, false
	}
	f, ok = s.in.(T)
	return f, ok
}

// Mix times the fused op if the wrapped stream has it, else the parts of the default composition.
func (s *Stream) Mix(u, c, x metal.Mat, m *metal.Mixer, scratch metal.MixScratch) {
	f, ok := fused[metal.FusedMix](s)
	if !ok {
		metal.ComposeMix(s, u, c, x, m, scratch)
		return
	}
	s.begin()
	f.Mix(u, c, x, m, scratch)
	// Normed streams and gates need not go to memory.
	w := work{rows: x.Rows, bytes: moved(2*size(x), size(u)), flops: (4 + hard + 2) * size(x)}
	w.weights(x.Rows, m.Down, m.Up, m.Inject)
	s.end("Mix", plain(m.Down.Name()), w)
}

// RunDeltaNet times the fused op if the wrapped stream has it, else the parts.
func (s *Stream) RunDeltaNet(x, c, y, u metal.Mat, n *metal.DeltaNet, rows metal.DeltaNetRows, scratch metal.DeltaNetScratch, conv []metal.ConvSpan, delta []metal.DeltaSpan) {
	f, ok := fused[metal.FusedDeltaNet](s)
	if !ok {
		metal.ComposeDeltaNet(s, x, c, y, u, n, rows, scratch, conv, delta)
		return
	}
	s.begin()
	f.RunDeltaNet(x, c, y, u, n, rows, scratch, conv, delta)
	state := float64(n.Shape.ValueHeads) * float64(n.Shape.KeyDim) * float64(n.Shape.ValueDim)
	r, channels := float64(u.Rows), float64(rows.Pre.Cols)
	tails := float64(len(conv)) * float64(n.Taps-1) * channels
	w := work{rows: u.Rows,
		bytes: moved(2*size(x), size(c), size(u), 2*size(rows.Pre), 2*size(rows.Beta), 2*state*float64(len(delta)), tails),
		flops: 7*state*r + r*channels*(2*float64(n.Taps)+hard) + (hard+5)*size(scratch.O) + 3*hard*size(rows.Beta) + 2*size(x)}
	w.weights(u.Rows, n.QKV, n.Z, n.B, n.A, n.Out)
	s.end("RunDeltaNet", plain(n.QKV.Name()), w)
}

// RunMoE times the fused op if the wrapped stream has it, else the parts.
func (s *Stream) RunMoE(x, c, y, u metal.Mat, m *metal.MoE, scratch metal.MoEScratch) {
	f, ok := fused[metal.FusedMoE](s)
	if !ok {
		metal.ComposeMoE(s, x, c, y, u, m, scratch)
		return
	}
	s.begin()
	f.RunMoE(x, c, y, u, m, scratch)
	r, k, inner := float64(u.Rows), float64(m.TopK), float64(m.Gate.Rows())
	w := work{rows: u.Rows, bytes: moved(2*size(x), size(c), size(u)),
		flops: r*k*(6*inner*float64(u.Cols)+hard*inner+2*float64(y.Cols)) + hard*size(scratch.Logits) + (hard+2)*size(scratch.SharedGate) + 2*size(y) + 2*size(x)}
	w.weights(u.Rows, m.Router, m.SharedGate, m.SharedUp, m.SharedDown, m.SharedExpertGate)
	s.end("RunMoE", plain(m.Router.Name()), w)
	each := float64(m.Gate.Bytes()+m.Up.Bytes()+m.Down.Bytes()) / float64(m.Gate.Stack())
	s.meter.amend("RunMoE", plain(m.Router.Name()), each*s.routed(scratch.IDs, m.Gate.Stack()))
}

// routed is how many experts the rows went to. The scratch of a fused op need not hold the ids afterwards; if it holds
// something else, the number to be expected of independent rows is taken.
func (s *Stream) routed(ids metal.Mat, experts int) float64 {
	n := s.distinct(ids)
	k := ids.Cols
	for _, id := range s.ids[:n] { // sorted, each once
		if id < 0 || int(id) >= experts || n < min(k, experts) {
			return float64(experts) * (1 - math.Pow(1-float64(k)/float64(experts), float64(ids.Rows)))
		}
	}
	return float64(n)
}

// Linears times the fused op if the wrapped stream has it, else each product.
func (s *Stream) Linears(x metal.Mat, to []metal.LinearTo) {
	f, ok := fused[metal.FusedLinears](s)
	if !ok {
		for _, t := range to {
			s.Linear(t.Dst, x, t.W)
		}
		return
	}
	s.begin()
	f.Linears(x, to)
	w, what := work{rows: x.Rows, bytes: moved(size(x))}, ""
	for i, t := range to {
		w.bytes += moved(size(t.Dst))
		w.weights(x.Rows, t.W)
		if i == 0 {
			what = plain(t.W.Name())
		} else {
			what += " + " + last(t.W.Name())
		}
	}
	s.end("Linears", what, w)
}

// LinearInject times the fused op if the wrapped stream has it, else its two parts.
func (s *Stream) LinearInject(x, c, y, in metal.Mat, weight metal.Weight) {
	f, ok := fused[metal.FusedLinearInject](s)
	if !ok {
		s.Linear(y, in, weight)
		s.Inject(x, c, y)
		return
	}
	s.begin()
	f.LinearInject(x, c, y, in, weight)
	w := work{rows: in.Rows, bytes: moved(2*size(x), size(c), size(in)), flops: 2 * size(x)}
	w.weights(in.Rows, weight)
	s.end("LinearInject", plain(weight.Name()), w)
}

// weights adds products of so many rows with weights, each read once; nil ones are not there.
func (w *work) weights(rows int, all ...metal.Weight) {
	for _, m := range all {
		if m != nil {
			w.bytes += float64(m.Bytes())
			w.flops += 2 * float64(rows) * float64(m.Rows()) * float64(m.Cols())
		}
	}
}

package ops

import "github.com/flashlane/flashlane/metal"

// Norm times metal.Stream.Norm.
func (s *Stream) Norm(dst, src metal.Mat, w metal.Vec, groups int, eps float32) {
	s.begin()
	s.in.Norm(dst, src, w, groups, eps)
	s.end("Norm", "", work{rows: src.Rows, bytes: moved(2*size(src), float64(src.Cols)), flops: 4 * size(src)})
}

// SiluScale times metal.Stream.SiluScale.
func (s *Stream) SiluScale(x metal.Mat, scale float32) {
	s.begin()
	s.in.SiluScale(x, scale)
	s.end("SiluScale", "", work{rows: x.Rows, bytes: moved(2 * size(x)), flops: (hard + 2) * size(x)})
}

// MixStreams times metal.Stream.MixStreams.
func (s *Stream) MixStreams(u, mix, normed metal.Mat, streams int) {
	s.begin()
	s.in.MixStreams(u, mix, normed, streams)
	s.end("MixStreams", "", work{rows: u.Rows, bytes: moved(size(u), size(mix), size(normed)), flops: (hard + 2) * size(mix)})
}

// Gain times metal.Stream.Gain.
func (s *Stream) Gain(c metal.Mat, scale float32) {
	s.begin()
	s.in.Gain(c, scale)
	s.end("Gain", "", work{rows: c.Rows, bytes: moved(2 * size(c)), flops: (hard + 2) * size(c)})
}

// Inject times metal.Stream.Inject.
func (s *Stream) Inject(x, c, y metal.Mat) {
	s.begin()
	s.in.Inject(x, c, y)
	s.end("Inject", "", work{rows: x.Rows, bytes: moved(2*size(x), size(c), size(y)), flops: 2 * size(x)})
}

// AddStreams times metal.Stream.AddStreams.
func (s *Stream) AddStreams(x, y metal.Mat) {
	s.begin()
	s.in.AddStreams(x, y)
	s.end("AddStreams", "", work{rows: x.Rows, bytes: moved(2*size(x), size(y)), flops: size(x)})
}

// AddBoth times metal.Stream.AddBoth.
func (s *Stream) AddBoth(x, a, b metal.Mat) {
	s.begin()
	s.in.AddBoth(x, a, b)
	s.end("AddBoth", "", work{rows: x.Rows, bytes: moved(4 * size(x)), flops: 2 * size(x)})
}

// SiluMul times metal.Stream.SiluMul.
func (s *Stream) SiluMul(dst, g, u metal.Mat) {
	s.begin()
	s.in.SiluMul(dst, g, u)
	s.end("SiluMul", "", work{rows: g.Rows, bytes: moved(3 * size(g)), flops: (hard + 2) * size(g)})
}

// AddGated times metal.Stream.AddGated.
func (s *Stream) AddGated(y, gate, v metal.Mat) {
	s.begin()
	s.in.AddGated(y, gate, v)
	s.end("AddGated", "", work{rows: y.Rows, bytes: moved(3*size(y), size(gate)), flops: 2 * size(y)})
}

// Gate times metal.Stream.Gate.
func (s *Stream) Gate(dst, k, q, v metal.Mat) {
	s.begin()
	s.in.Gate(dst, k, q, v)
	s.end("Gate", "", work{rows: dst.Rows, bytes: moved(3*size(dst), size(v)), flops: 3 * size(dst)})
}

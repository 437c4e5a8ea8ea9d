package ops

import "github.com/flashlane/flashlane/metal"

// NormRope times metal.Stream.NormRope.
func (s *Stream) NormRope(dst, src metal.Mat, w metal.Vec, heads, dim, step int, eps float32, cs metal.Mat) {
	s.begin()
	s.in.NormRope(dst, src, w, heads, dim, step, eps, cs)
	s.end("NormRope", "", work{rows: src.Rows, bytes: moved(2*size(dst), size(cs)), flops: 7 * size(dst)})
}

// Pool times metal.Stream.Pool.
func (s *Stream) Pool(w metal.Vec, dim, ratio int, eps float32, spans []metal.PoolSpan) {
	s.begin()
	s.in.Pool(w, dim, ratio, eps, spans)
	blocks := 0
	for _, p := range spans {
		blocks += p.N
	}
	n := float64(blocks) * float64(dim)
	s.end("Pool", "", work{rows: blocks, bytes: moved(n*float64(ratio), n), flops: n * float64(ratio+7)})
}

// Select times metal.Stream.Select. Only rows past the budget are scored.
func (s *Stream) Select(sel, qi metal.Mat, heads, dim, ratio, top int, spans []metal.SelectSpan) {
	s.begin()
	s.in.Select(sel, qi, heads, dim, ratio, top, spans)
	scored, keys := 0.0, 0.0
	for _, p := range spans {
		for i := range p.N {
			if nb := (p.Pos + i + 1) / ratio; nb > top {
				scored += float64(nb)
			}
		}
		if nb := (p.Pos + p.N) / ratio; nb > top {
			keys += float64(nb) * float64(dim) // read once, for all rows of the span
		}
	}
	s.end("Select", "", work{rows: qi.Rows, bytes: moved(size(qi), size(sel), keys), flops: scored * float64(heads) * float64(2*dim+2)})
}

// Attend times metal.Stream.Attend. Every row reads the keys and values it attends to; rows of one span share those that all
// of them see, as far as they attend to everything.
func (s *Stream) Attend(dst, q, gate, sel metal.Mat, shape metal.AttendShape, spans []metal.AttendSpan) {
	s.begin()
	s.in.Attend(dst, q, gate, sel, shape, spans)
	seen, read := 0.0, 0.0
	for _, p := range spans {
		dense := 0.0
		for i := range p.N {
			n, sparse := attended(p.Pos+i, shape)
			seen += float64(n)
			if sparse {
				read += float64(n)
			} else {
				dense = float64(n)
			}
		}
		read += dense
	}
	s.end("Attend", "", work{rows: q.Rows,
		bytes: moved(3*size(q), size(sel), 2*read*float64(shape.KVHeads*shape.Dim)),
		flops: seen*float64(shape.Heads)*float64(4*shape.Dim+hard) + size(q)*hard})
}

// attended is how many positions a row at pos attends to (spec 2.5).
func attended(pos int, s metal.AttendShape) (n int, sparse bool) {
	n = pos + 1
	if nb := n / s.Ratio; nb > s.Top {
		return s.Top*s.Ratio + n - nb*s.Ratio, true
	}
	return n, false
}

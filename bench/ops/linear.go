package ops

import (
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// Embed times metal.Stream.Embed.
func (s *Stream) Embed(dst metal.Mat, table metal.Weight, ids []int32, copies int) {
	s.begin()
	s.in.Embed(dst, table, ids, copies)
	row := float64(table.Bytes()) / float64(table.Rows())
	s.end("Embed", plain(table.Name()), work{rows: dst.Rows, bytes: float64(len(ids))*row + moved(size(dst)), flops: size(dst)})
}

// Linear times metal.Stream.Linear.
func (s *Stream) Linear(dst, x metal.Mat, w metal.Weight) {
	s.begin()
	s.in.Linear(dst, x, w)
	s.end("Linear", plain(w.Name()), linearWork(x, w))
}

func linearWork(x metal.Mat, w metal.Weight) work {
	n, k, r := float64(w.Rows()), float64(w.Cols()), float64(x.Rows)
	return work{rows: x.Rows, bytes: float64(w.Bytes()) + moved(r*k, r*n), flops: 2 * r * n * k}
}

// Experts times metal.Stream.Experts. Which experts the rows go to is read afterwards, outside of the time.
func (s *Stream) Experts(y, x, ids, w metal.Mat, gate, up, down metal.Weight) {
	s.begin()
	s.in.Experts(y, x, ids, w, gate, up, down)
	inner, pairs := float64(gate.Rows()), size(ids)
	s.end("Experts", plain(gate.Name()), work{rows: x.Rows, flops: pairs * (6*inner*float64(x.Cols) + hard*inner + 2*float64(y.Cols))})
	each := float64(gate.Bytes()+up.Bytes()+down.Bytes()) / float64(gate.Stack())
	s.meter.amend("Experts", plain(gate.Name()), each*float64(s.distinct(ids))+moved(size(x), size(y), 2*pairs))
}

// distinct counts the different ids.
func (s *Stream) distinct(ids metal.Mat) int {
	n := ids.Rows * ids.Cols
	if cap(s.ids) < n {
		s.ids = make([]int32, n)
	}
	all := s.ids[:n]
	for r := range ids.Rows {
		if err := s.in.ReadInts(all[r*ids.Cols:(r+1)*ids.Cols], ids.Row(r)); err != nil {
			s.err = err
		}
	}
	slices.Sort(all)
	return len(slices.Compact(all))
}

// Route times metal.Stream.Route.
func (s *Stream) Route(ids, w, logits metal.Mat, renorm bool) {
	s.begin()
	s.in.Route(ids, w, logits, renorm)
	s.end("Route", "", work{rows: logits.Rows, bytes: moved(size(logits), size(ids), size(w)), flops: size(logits) * hard})
}

// ArgMax times metal.Stream.ArgMax.
func (s *Stream) ArgMax(ids, x metal.Mat) {
	s.begin()
	s.in.ArgMax(ids, x)
	s.end("ArgMax", "", work{rows: x.Rows, bytes: moved(size(x), size(ids)), flops: size(x)})
}

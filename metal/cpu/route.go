package cpu

import "github.com/flashlane/flashlane/metal"

// Route is the router, spec 2.6: p = exp(l - max l) / z, z the sum by the lane rule; the k largest p, ties to the lowest id,
// come out by ascending id, divided by their sum (added in ascending id) if renorm. A row with a NaN gives ids 0..k-1
// and NaN weights.
func (s *stream) Route(ids, w, logits metal.Mat, renorm bool) {
	mi, mw, ml := imatOf(ids), matOf(w), matOf(logits)
	if mi.rows != ml.rows || mw.rows != ml.rows || mi.cols != mw.cols || mi.cols < 1 || mi.cols > ml.cols {
		want(false, "Route", "ids [%d %d], w [%d %d], logits [%d %d]", mi.rows, mi.cols, mw.rows, mw.cols, ml.rows, ml.cols)
	}
	k, grain := s.dev.kernels, rowGrain(ml.cols, sweepGrain)
	if ml.rows <= grain {
		routeRows(k, mi, mw, ml, renorm, 0, ml.rows)
		return
	}
	s.parallel(ml.rows, grain, func(lo, hi int) { routeRows(k, mi, mw, ml, renorm, lo, hi) })
}

func routeRows(k *kernelSet, ids imat, w, logits mat, renorm bool, lo, hi int) {
	c := takeScratch(logits.cols)
	defer c.free()
	p, v := c.f, k.simd()
	for r := lo; r < hi; r++ {
		if x := logits.row(r); !routeRow(v, ids.row(r), w.row(r), x) {
			copy(p, x)
			k.expShift(p, largest(v, x))
			z := laneSum(p)
			for e := range p {
				p[e] /= z
			}
			routeTop(ids.row(r), w.row(r), p)
		}
		if renorm {
			var sum float32
			for _, v := range w.row(r) {
				sum += v
			}
			for j := range w.row(r) {
				w.row(r)[j] /= sum
			}
		}
	}
}

// routeTop writes the len(ids) largest p with their ids, ascending by id.
func routeTop(ids []int32, w, p []float32) {
	n := 0 // ids[:n] holds the best so far, by falling p, then rising id
	for e, v := range p {
		if n == len(ids) {
			if !(v > w[n-1]) {
				continue
			}
			n--
		}
		j := n
		for j > 0 && v > w[j-1] {
			ids[j], w[j] = ids[j-1], w[j-1]
			j--
		}
		ids[j], w[j] = int32(e), v
		n++
	}
	for i := 1; i < n; i++ {
		id, v, j := ids[i], w[i], i
		for j > 0 && ids[j-1] > id {
			ids[j], w[j] = ids[j-1], w[j-1]
			j--
		}
		ids[j], w[j] = id, v
	}
}

package cpu

import "unsafe"

// prepared is memory for rows in the form the affine kernels take; it grows to the most ever used.
type prepared struct {
	words []uint32
}

// room makes place for rows rows of the weight's inner size.
func (p *prepared) room(rows int, w *weight) rowsOf {
	stride := w.dev.kernels.rowBytes(w.cols, w.group)
	if len(p.words) < rows*stride/4 {
		p.words = wordsOf(heapBytes(rows * stride))
	}
	return rowsOf{base: unsafe.Pointer(unsafe.SliceData(p.words)), stride: uintptr(stride)}
}

// prepareWork is the columns to prepare that are worth handing to another thread.
const prepareWork = 16384

// prepareAll prepares rows of x for w.
func (s *stream) prepareAll(p *prepared, x rowsOf, rows int, w *weight) rowsOf {
	out := p.room(rows, w)
	grain := rowGrain(w.cols, prepareWork)
	if rows <= grain {
		prepareRows(s.dev.kernels, out, x, w, 0, rows)
		return out
	}
	s.parallel(rows, grain, func(lo, hi int) { prepareRows(s.dev.kernels, out, x, w, lo, hi) })
	return out
}

// prepareCall bounds the columns of one call: assembly cannot be preempted, and the collector waits for it.
const prepareCall = 1 << 15

func prepareRows(ks *kernelSet, out, x rowsOf, w *weight, lo, hi int) {
	n := 1 // rows of a call
	if x.pick == nil && int(x.stride) == 4*w.cols {
		n = max(1, prepareCall/w.cols) // they lie end to end on both sides
	}
	for r := lo; r < hi; r += n {
		ks.prepare(out.at(r), unsafe.Slice((*float32)(x.at(r)), min(n, hi-r)*w.cols), w.group, w.center)
	}
}

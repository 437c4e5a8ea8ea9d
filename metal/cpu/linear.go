package cpu

import (
	"fmt"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

const (
	// chunkRows is the rows of x that stay in cache while the weights pass by.
	chunkRows = 48
	// pieceWork is the multiply-adds worth handing to another thread (about a microsecond).
	pieceWork = 1 << 15
	// callWork bounds one kernel call: assembly cannot be preempted, and the collector waits for it.
	callWork = 1 << 18
)

// linearCall is the arguments of the Linear in progress. They live in the stream so that a call allocates nothing.
type linearCall struct {
	fn     func(worker, lo, hi int)
	w      *weight
	x      rowsOf
	ready  prepared
	y      unsafe.Pointer
	stride uintptr // bytes from row to row of y
	rows   int
	chunk  int // rows per unit
}

// rowsOf is rows of activations in memory: row i is the one at index pick[i], or i if pick is nil.
type rowsOf struct {
	base   unsafe.Pointer
	stride uintptr // bytes
	pick   []int32
}

func (r *rowsOf) at(i int) unsafe.Pointer {
	if r.pick != nil {
		i = int(r.pick[i])
	}
	return unsafe.Add(r.base, uintptr(i)*r.stride)
}

// desk is what one thread of an op works on.
type desk struct {
	args kernelArgs
	wide []float32                // one tile as f32
	edge [maxRows * tileN]float32 // outputs of a tile that is not full
	rows prepared                 // rows for affine weights, and what they are
	key  inputKey
	part []float32 // outputs of a few tiles on their way to where they are added

	// What the fused blocks keep for the units of one call.
	low      []float32 // Mix: activated low-rank rows
	lowKey   uint64
	normed   []float32 // Mix: normed streams of a row
	normTurn uint64
	list     pairList // RunMoE: the pairs
	listTurn uint64
	ids      []int32 // RunMoE: routes of a row or two
	weights  []float32
	act      []float32 // RunMoE: activated rows of the shared expert
	actTurn  uint64
	terms    []term   // RunMoE: of a row
	also     prepared // a second set of prepared rows, and what they are
	alsoKey  inputKey
	_        [64]byte
}

// Linear sets dst [R, N] = x [R, K] W^T. Each element is the sum kernelSet describes, the same for any number of rows
// and threads: threads share the output tiles, and chunks of rows if there are many, never K.
func (s *stream) Linear(dst, x metal.Mat, wt metal.Weight) {
	w := wt.(*weight)
	if x.Rows != dst.Rows || x.Cols != w.cols || dst.Cols != w.rows || w.stack != 1 {
		panic(fmt.Sprintf("cpu: Linear: %s [%d %d] x %d: dst [%d %d], x [%d %d]",
			w.name, w.rows, w.cols, w.stack, dst.Rows, dst.Cols, x.Rows, x.Cols))
	}
	if x.Rows == 0 {
		return
	}
	my, mx := matOf(dst), matOf(x)
	c := &s.lin
	c.w = w
	c.x = rowsOf{base: unsafe.Pointer(unsafe.SliceData(mx.f)), stride: uintptr(mx.stride) * 4}
	c.y = unsafe.Pointer(unsafe.SliceData(my.f))
	c.stride = uintptr(my.stride) * 4
	c.rows = x.Rows
	c.chunk = min(x.Rows, chunkRows)
	if w.layout.affine() {
		c.x = s.prepareAll(&c.ready, c.x, c.rows, w)
	}
	chunks := (c.rows + c.chunk - 1) / c.chunk
	s.workers.runID(chunks*w.tiles, max(1, pieceWork/(w.cols*tileN*c.chunk)), c.fn)
	*c = linearCall{fn: c.fn, ready: c.ready}
}

// linearUnits does units lo..hi-1; unit u is tile u%tiles for the rows of chunk u/tiles.
func (s *stream) linearUnits(worker, lo, hi int) {
	c := &s.lin
	d := &s.desk[worker]
	for lo < hi {
		from, tile := lo/c.w.tiles*c.chunk, lo%c.w.tiles
		n := min(hi-lo, c.w.tiles-tile)
		x := c.x
		x.base = unsafe.Add(x.base, uintptr(from)*x.stride)
		y := unsafe.Add(c.y, uintptr(from)*c.stride+uintptr(tile)*tileN*4)
		d.multiply(s.dev.kernels, c.w, 0, tile, n, &x, min(c.chunk, c.rows-from), y, c.stride)
		lo += n
	}
}

// multiply computes n tiles of matrix e for some rows of x (prepared ones if the weight is affine); y is the place of row 0's first output.
func (d *desk) multiply(ks *kernelSet, w *weight, e, tile, n int, x *rowsOf, rows int, y unsafe.Pointer, stride uintptr) {
	a := &d.args
	a.k, a.group, a.center, a.radix = w.cols, w.group, float32(w.center), 256
	if w.layout.affine() {
		a.digits, a.row = ks.digits(w.group), ks.rowBytes(w.cols, w.group)
	}
	lay, most := w.layout, ks.rows[w.layout]
	bunch := max(1, callWork/(w.cols*tileN*min(rows, most)))
	expand := ks.wide[lay] > 0 && rows >= ks.wide[lay]
	if expand {
		lay, bunch, most = layF32, 1, ks.rows[layF32]
		if len(d.wide) < w.cols*tileN {
			d.wide = floatsOf(heapBytes(4 * w.cols * tileN))
		}
	}
	blocks := (rows + most - 1) / most
	for n > 0 {
		width := min((w.rows - tile*tileN), tileN) // outputs of the first tile
		m := 1
		if width == tileN {
			m = min(n, bunch, w.rows/tileN-tile)
		}
		a.w, a.sb = w.values(e, tile), w.scales(e, tile)
		if expand {
			a.y = unsafe.Pointer(unsafe.SliceData(d.wide))
			ks.expand[w.layout](a)
			a.w, a.sb = a.y, nil
		}
		a.tiles = m
		// Rows are cut into blocks of nearly equal size: 7 rows are 4 and 3, not 6 and 1.
		for b, r := 0, 0; b < blocks; b++ {
			a.rows = (rows - r + blocks - b - 1) / (blocks - b)
			for i := range a.rows {
				a.x[i] = x.at(r + i)
			}
			out := unsafe.Add(y, uintptr(r)*stride)
			if width == tileN {
				a.y, a.yStride = out, stride
				ks.linear[lay][a.rows-1](a)
			} else {
				a.y, a.yStride = unsafe.Pointer(&d.edge), tileN*4
				ks.linear[lay][a.rows-1](a)
				for i := range a.rows {
					row := unsafe.Slice((*float32)(unsafe.Add(out, uintptr(i)*stride)), width)
					copy(row, d.edge[i*tileN:])
				}
			}
			r += a.rows
		}
		if tile, n = tile+m, n-m; n > 0 {
			y = unsafe.Add(y, uintptr(m)*tileN*4)
		}
	}
}

package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// The fused blocks run one fork-join each, in stages. They call the same inner functions on the same values as the ops they
// stand for, so they give the same bits. A pass of few rows is narrow: each stage is shared out by columns. A pass of many
// rows is tall: a thread takes a chunk of rows through as many steps as do not mix rows, so that the chunk stays in its
// cache and no thread waits.

// tallRows is the rows of a tall pass, per thread.
const tallRows = 16

// chunkOf is the rows of a chunk in a tall pass: two to four blocks of kernel rows, and equal parts for the threads.
func (s *stream) chunkOf(rows int) int {
	parts := 8 * s.workers.threads
	return min(4*maxRows, max(2*maxRows, (rows+parts-1)/parts))
}

func (s *stream) tall(rows int) bool { return rows >= tallRows*s.workers.threads }

// call is what all fused blocks keep while they run.
type call struct {
	turn  uint64 // number of the call, so that what a desk keeps is not taken for another call's
	tall  bool
	rows  int
	chunk int
	sides *[maxStages]sides
}

// sides counts the chunks of a stage that were taken from either side. Threads take chunks from the side that is theirs, so that as
// long as they are equally fast a row stays with one of them, and in its cache, from stage to stage and from block to block.
type sides struct {
	low  atomic.Int32
	_    [60]byte
	high atomic.Int32
	_    [60]byte
}

func (s *stream) begin(rows int) call {
	s.turn++
	for i := range s.sides {
		s.sides[i].low.Store(0)
		s.sides[i].high.Store(0)
	}
	return call{turn: s.turn, tall: s.tall(rows), rows: rows, chunk: s.chunkOf(rows), sides: &s.sides}
}

// next is the chunk that a worker does for a piece of a stage of perChunk: each piece is asked for once, so the sides do not overlap.
func (c *call) next(worker, stage int) int {
	if worker&1 == 0 {
		return int(c.sides[stage].low.Add(1)) - 1
	}
	return c.chunks() - int(c.sides[stage].high.Add(1))
}

// chunks is the number of chunks.
func (c *call) chunks() int { return (c.rows + c.chunk - 1) / c.chunk }

// perChunk is a stage of all chunks.
func (c *call) perChunk() stage { return stage{n: c.chunks(), grain: 1, even: true} }

// rowsOf is the rows of a chunk.
func (c *call) rowsOf(chunk int) (lo, n int) {
	lo = chunk * c.chunk
	return lo, min(c.chunk, c.rows-lo)
}

// inputKey says what a desk has prepared.
type inputKey struct {
	base             uintptr
	turn             uint64
	rows, cols, size int
	center           int32
}

// input is rows of x in the form w takes. A desk keeps the last rows it prepared: they serve all products of one stage, in
// which x does not change. turn tells stages of all calls apart.
func (d *desk) input(ks *kernelSet, w *weight, x rowsOf, rows int, turn uint64) rowsOf {
	return inputIn(ks, w, x, rows, turn, &d.rows, &d.key)
}

// second is input for rows that must not take the place of the others.
func (d *desk) second(ks *kernelSet, w *weight, x rowsOf, rows int, turn uint64) rowsOf {
	return inputIn(ks, w, x, rows, turn, &d.also, &d.alsoKey)
}

func inputIn(ks *kernelSet, w *weight, x rowsOf, rows int, turn uint64, room *prepared, have *inputKey) rowsOf {
	if !w.layout.affine() {
		return x
	}
	key := inputKey{uintptr(x.base), turn, rows, w.cols, w.group, w.center}
	out := room.room(rows, w)
	if *have != key {
		prepareRows(ks, out, x, w, 0, rows)
		*have = key
	}
	return out
}

// span is rows from.. of m.
func (m mat) span(from int) rowsOf {
	return rowsOf{base: unsafe.Pointer(&m.f[from*m.stride]), stride: uintptr(m.stride) * 4}
}

// product sets tiles tile..tile+n-1 of rows lo..lo+rows-1 of dst; x is those rows in the form w takes.
func (d *desk) product(ks *kernelSet, w *weight, tile, n int, dst mat, lo, rows int, x rowsOf) {
	d.multiply(ks, w, 0, tile, n, &x, rows, unsafe.Pointer(&dst.f[lo*dst.stride+tile*tileN]), uintptr(dst.stride)*4)
}

// target is one of several products of the same rows.
type target struct {
	w   *weight
	dst mat
}

// tilesOf is the tiles of all targets.
func tilesOf(all []target) int {
	n := 0
	for i := range all {
		n += all[i].w.tiles
	}
	return n
}

// products does units lo..hi-1 of a list of products: the tiles of all of them, end to end, for rows from..from+rows-1.
func (d *desk) products(ks *kernelSet, all []target, lo, hi int, x mat, from, rows int, turn uint64) {
	base := 0
	for i := range all {
		t := &all[i]
		a, b := max(lo-base, 0), min(hi-base, t.w.tiles)
		base += t.w.tiles
		if a < b {
			d.product(ks, t.w, a, b-a, t.dst, from, rows, d.input(ks, t.w, x.span(from), rows, turn))
		}
	}
}

// inject adds columns col..col+n-1 of y to every stream of x, for rows lo..lo+rows-1.
func inject(ks *kernelSet, x, c, y mat, lo, rows, col, n int) {
	h := y.cols
	for r := lo; r < lo+rows; r++ {
		xs, v, gains := x.row(r)[col:], y.row(r)[col:col+n], c.row(r)
		done := headInject(ks.simd(), v, xs, h, gains)
		if done == n {
			continue
		}
		for i, g := range gains {
			ks.addScaled(xs[i*h+done:][:n-done], v[done:], g)
		}
	}
}

// columnsOf is the columns that tiles lo..hi-1 of a matrix of so many columns make.
func columnsOf(lo, hi, cols int) (col, n int) { return lo * tileN, min(hi*tileN, cols) - lo*tileN }

// checkInject panics unless x [R, S*H], c [R, S] and y [R, H] fit.
func checkInject(op string, x, c, y metal.Mat) {
	if c.Rows != x.Rows || y.Rows != x.Rows || x.Cols != c.Cols*y.Cols {
		want(false, op, "x [%d %d], c [%d %d], y [%d %d]", x.Rows, x.Cols, c.Rows, c.Cols, y.Rows, y.Cols)
	}
}

// checkLinear panics unless dst = x w^T fits.
func checkLinear(op string, dst, x metal.Mat, w *weight) {
	if x.Rows != dst.Rows || x.Cols != w.cols || dst.Cols != w.rows || w.stack != 1 {
		want(false, op, "%s [%d %d] x %d: dst [%d %d], x [%d %d]", w.name, w.rows, w.cols, w.stack, dst.Rows, dst.Cols, x.Rows, x.Cols)
	}
}

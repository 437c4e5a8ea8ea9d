package cpu

import (
	"fmt"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// expertsCall is the Experts in progress, with scratch that grows to the largest call of the stream.
type expertsCall struct {
	innerFn, outerFn func(worker, lo, hi int)

	gate, up, down *weight
	x, xUp         rowsOf // in the form that gate takes and up takes
	y              mat

	list   pairList
	hidden []float32 // [pairs, I] silu(g)*u
	h      rowsOf    // its rows
	readyX prepared  // x for affine weights: gate,
	readyU prepared  // up if it is not like gate,
	readyH prepared  // and hidden for down
}

// pairList is the pairs of a row and one expert it picked, sorted by expert, then row, so that an expert's weights pass
// once for all its rows.
type pairList struct {
	first  []int32   // [E+1] first pair of each expert
	active []int32   // experts with pairs, ascending
	most   int       // pairs of the expert that has most
	row    []int32   // [pairs] row of each pair
	scale  []float32 // [pairs] its weight
	place  []int32   // [rows, k] where the pair of each id is in the list
}

// Experts sets y [R, H] = sum over the row's experts, ascending id, of w_e * down_e( silu(gate_e x) * up_e x ): from
// y = 0, y = y + float32(w_e*y_e), no fused multiply-add; the three products are those of Linear.
func (s *stream) Experts(y, x, ids, wts metal.Mat, gate, up, down metal.Weight) {
	c := &s.exp
	c.gate, c.up, c.down = gate.(*weight), up.(*weight), down.(*weight)
	checkExperts("Experts", c.gate, c.up, c.down, y, x, ids, wts)
	inner, hidden, n := c.gate.rows, c.gate.cols, c.gate.stack
	if x.Rows == 0 {
		return
	}
	mx := matOf(x)
	plain := rowsOf{base: unsafe.Pointer(unsafe.SliceData(mx.f)), stride: uintptr(mx.stride) * 4}
	c.x, c.y = plain, matOf(y)
	c.list.sort(imatOf(ids), matOf(wts), n)
	pairs, active := len(c.list.row), len(c.list.active)
	c.hidden = grow(c.hidden, pairs*inner)
	if c.gate.layout.affine() {
		c.x = s.prepareAll(&c.readyX, plain, x.Rows, c.gate)
	}
	c.xUp = c.x
	if !alike(c.gate, c.up) {
		c.xUp = plain
		if c.up.layout.affine() {
			c.xUp = s.prepareAll(&c.readyU, plain, x.Rows, c.up)
		}
	}
	perUnit := (pairs + active - 1) / max(active, 1) // rows of an expert, on average
	s.workers.runID(active*c.gate.tiles, max(1, pieceWork/(2*hidden*tileN*max(perUnit, 1))), c.innerFn)
	c.h = rowsOf{base: unsafe.Pointer(unsafe.SliceData(c.hidden)), stride: uintptr(inner) * 4}
	if c.down.layout.affine() {
		c.h = s.prepareAll(&c.readyH, c.h, pairs, c.down)
	}
	s.workers.runID(c.down.tiles, max(1, pieceWork/(inner*tileN*max(pairs, 1))), c.outerFn)
	c.gate, c.up, c.down, c.x, c.xUp, c.h, c.y = nil, nil, nil, rowsOf{}, rowsOf{}, rowsOf{}, mat{}
}

// checkExperts panics unless the stacks and rows fit together.
func checkExperts(op string, gate, up, down *weight, y, x, ids, wts metal.Mat) {
	inner, hidden, n := gate.rows, gate.cols, gate.stack
	if up.rows != inner || up.cols != hidden || down.rows != hidden || down.cols != inner || up.stack != n || down.stack != n || x.Cols != hidden || y.Cols != hidden ||
		x.Rows != y.Rows || ids.Rows != x.Rows || wts.Rows != x.Rows || ids.Cols != wts.Cols {
		want(false, op, "gate %d x [%d %d], up %d x [%d %d], down %d x [%d %d]: y [%d %d], x [%d %d], ids [%d %d], w [%d %d]",
			n, inner, hidden, up.stack, up.rows, up.cols, down.stack, down.rows, down.cols, y.Rows, y.Cols, x.Rows, x.Cols, ids.Rows,
			ids.Cols, wts.Rows, wts.Cols)
	}
}

// alike reports whether two weights take rows in the same form.
func alike(a, b *weight) bool {
	return a.layout == b.layout && a.group == b.group && a.center == b.center
}

// sort lists the pairs by expert, then row.
func (c *pairList) sort(ids imat, wts mat, experts int) {
	pairs := ids.rows * ids.cols
	c.first = grow(c.first, experts+1)
	c.row = grow(c.row, pairs)
	c.scale = grow(c.scale, pairs)
	c.place = grow(c.place, pairs)
	c.active, c.most = c.active[:0], 0
	clear(c.first)
	for r := range ids.rows {
		for _, e := range ids.row(r) {
			if e < 0 || int(e) >= experts {
				panic(fmt.Sprintf("cpu: Experts: id %d of row %d is outside [0, %d)", e, r, experts))
			}
			c.first[e+1]++
		}
	}
	for e := range experts {
		if c.first[e+1] > 0 {
			c.active = append(c.active, int32(e))
			c.most = max(c.most, int(c.first[e+1]))
		}
		c.first[e+1] += c.first[e]
	}
	for r := range ids.rows {
		w := wts.row(r)
		for i, e := range ids.row(r) {
			at := c.first[e] // the start of e moves to its end ...
			c.first[e]++
			c.row[at], c.scale[at] = int32(r), w[i]
			c.place[r*ids.cols+i] = at
		}
	}
	copy(c.first[1:], c.first[:experts]) // ... which is the start of e+1
	c.first[0] = 0
}

// partSize bounds the outputs one thread keeps between multiplying and using them, so that they stay in cache.
const partSize = 8192

// tilesAt is how many tiles to take at once for rows rows when n are left.
func tilesAt(n, rows int) int { return min(n, max(1, partSize/(rows*tileN))) }

func (s *stream) expertsInner(worker, lo, hi int) {
	c := &s.exp
	innerUnits(&s.desk[worker], s.dev.kernels, &c.list, c.gate, c.up, c.x, c.xUp, c.hidden, lo, hi)
}

// innerUnits does units lo..hi-1 of the hidden values: unit u is tile u%tiles of active expert u/tiles, for all its rows.
// x and xUp are all rows in the forms that gate and up take.
func innerUnits(d *desk, ks *kernelSet, l *pairList, gate, up *weight, x, xUp rowsOf, hidden []float32, lo, hi int) {
	for lo < hi {
		e, tile := int(l.active[lo/gate.tiles]), lo%gate.tiles
		n := min(hi-lo, gate.tiles-tile)
		innerRows(d, ks, l, gate, up, x, xUp, hidden, e, tile, n, int(l.first[e]), int(l.first[e+1]))
		lo += n
	}
}

// innerRows does tiles tile..tile+n-1 of the hidden values of pairs from..to-1, which are of expert e.
func innerRows(d *desk, ks *kernelSet, l *pairList, gate, up *weight, x, xUp rowsOf, hidden []float32, e, tile, n, from, to int) {
	inner, rows := gate.rows, to-from
	x.pick, xUp.pick = l.row[from:to], l.row[from:to]
	for n > 0 {
		m := tilesAt(n, rows)
		width := min(m*tileN, inner-tile*tileN)
		d.part = grow(d.part, rows*m*tileN)
		g := hidden[from*inner+tile*tileN:]
		d.multiply(ks, gate, e, tile, m, &x, rows, unsafe.Pointer(unsafe.SliceData(g)), uintptr(inner)*4)
		d.multiply(ks, up, e, tile, m, &xUp, rows, unsafe.Pointer(unsafe.SliceData(d.part)), uintptr(m)*tileN*4)
		if width == inner && width == m*tileN {
			ks.siluMul(g[:rows*inner], g[:rows*inner], d.part) // rows lie end to end
		} else {
			for r := range rows {
				h := g[r*inner:][:width]
				ks.siluMul(h, h, d.part[r*m*tileN:][:width])
			}
		}
		tile, n = tile+m, n-m
	}
}

func (s *stream) expertsOuter(worker, lo, hi int) {
	c := &s.exp
	outerUnits(&s.desk[worker], s.dev.kernels, &c.list, c.down, c.h, c.y, lo, hi)
}

// outerUnits does output tiles lo..hi-1: every active expert in ascending order, so every row adds in ascending order. h is
// the hidden rows in the form of the weights.
func outerUnits(d *desk, ks *kernelSet, l *pairList, down *weight, h rowsOf, y mat, lo, hi int) {
	for lo < hi {
		n := tilesAt(hi-lo, l.most)
		at, width := lo*tileN, min(n*tileN, y.cols-lo*tileN)
		for r := range y.rows {
			clear(y.row(r)[at:][:width])
		}
		for _, e := range l.active {
			from, to := int(l.first[e]), int(l.first[e+1])
			x := h
			x.base = unsafe.Add(x.base, uintptr(from)*x.stride)
			d.part = grow(d.part, (to-from)*n*tileN)
			d.multiply(ks, down, int(e), lo, n, &x, to-from, unsafe.Pointer(unsafe.SliceData(d.part)), uintptr(n)*tileN*4)
			for p := from; p < to; p++ {
				ks.addScaled(y.row(int(l.row[p]))[at:][:width], d.part[(p-from)*n*tileN:][:width], l.scale[p])
			}
		}
		lo += n
	}
}

// grow returns s with length n, with new memory only if it must; the contents are not kept.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n+n/4)[:n]
	}
	return s[:n]
}

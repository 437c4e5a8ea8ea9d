package cpu

import (
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

var _ metal.FusedMix = (*stream)(nil)

// mixCall is the Mix in progress.
type mixCall struct {
	call
	fn func(worker, stage, lo, hi int)

	u, c, x, normed, low mat
	norm                 []float32
	first                []target // products of the normed streams: down, and inject if there is one
	up                   *weight
	streams, halves      int
	width                int  // columns of a part of u
	late                 bool // inject is left to the last stage
	eps, scale           float32

	stages          [maxStages]stage
	together, alone func()
	trials          [2]trial // without inject and with it
}

// mixColumns is the columns of u that are made at once: as many as keep the gates of some rows in the first cache, since
// each row and stream costs calls.
const mixColumns = 128

// Mix is the gated residual in one fork-join: norms; down and inject; then by columns of u the gate, which is never
// written out, and the mix.
func (s *stream) Mix(u, cm, x metal.Mat, m *metal.Mixer, sc metal.MixScratch) {
	down, up := m.Down.(*weight), m.Up.(*weight)
	if u.Cols%tileN != 0 || x.Cols != m.Streams*u.Cols || up.rows != x.Cols || u.Rows != x.Rows {
		metal.ComposeMix(s, u, cm, x, m, sc) // which says what is wrong, if it is more than an odd width
		return
	}
	checkLinear("Mix", sc.Low, x, down)
	if m.Inject != nil {
		checkLinear("Mix", cm, x, m.Inject.(*weight))
	}
	if up.cols != down.rows || sc.Normed.Rows != x.Rows || sc.Normed.Cols != x.Cols || m.Norm.N != x.Cols {
		want(false, "Mix", "up [%d %d], down [%d %d], normed [%d %d], norm [%d]", up.rows, up.cols, down.rows, down.cols, sc.Normed.Rows,
			sc.Normed.Cols, m.Norm.N)
	}
	if x.Rows == 0 {
		return
	}
	c := &s.mix
	c.call = s.begin(x.Rows)
	c.u, c.x, c.normed, c.low, c.norm, c.up = matOf(u), matOf(x), matOf(sc.Normed), matOf(sc.Low), vecOf(m.Norm), up
	c.first = append(c.first[:0], target{down, c.low})
	c.c = mat{}
	if m.Inject != nil {
		c.c = matOf(cm)
		c.first = append(c.first, target{m.Inject.(*weight), c.c})
	}
	c.streams, c.eps, c.scale = m.Streams, m.Eps, 1/float32(m.Streams)
	c.width, c.late = mixColumns, false
	if c.tall {
		s.workers.runStages([]stage{c.perChunk()}, c.fn)
	} else {
		c.halves = 1
		if c.rows >= 4 && s.workers.threads > 1 {
			c.halves = 2 // few tiles: rows are shared out too
		}
		// One row cannot be shared out: inject, which nothing here waits for, evens out the last stage.
		if c.rows == 1 {
			c.width, c.late = mixColumns/4, len(c.first) > 1
		}
		for c.width > 2*tileN && c.parts() < s.workers.threads {
			c.width /= 2
		}
		first, last := tilesOf(c.first)*c.halves, c.parts()
		if c.late {
			first, last = down.tiles, last+1
		}
		norms := stage{n: c.rows * c.streams, grain: max(1, ownNorms/2/u.Cols)}
		if c.own() {
			norms = stage{}
		}
		c.stages = [maxStages]stage{norms, {n: first, grain: 1}, {n: last, grain: max(1, sweepGrain/2/(c.width*c.streams*c.rows))}}
		if c.rows == 1 && s.workers.threads > 1 {
			// Its low-rank values stand between two products, and cross to the other core and back: two threads are not always quicker.
			c.trials[len(c.first)-1].do(c.together, c.alone)
		} else {
			c.together()
		}
	}
	clear(c.first)
	c.u, c.c, c.x, c.normed, c.low, c.norm, c.up = mat{}, mat{}, mat{}, mat{}, mat{}, nil, nil
}

// ownNorms is the values up to which every thread norms for itself: for one narrow row that is quicker than to wait.
const ownNorms = 1024

// own says whether every thread norms the streams for itself.
func (c *mixCall) own() bool { return !c.tall && c.rows*c.x.cols <= ownNorms }

// streamsOf is the normed streams as thread d sees them.
func (c *mixCall) streamsOf(d *desk, ks *kernelSet) mat {
	if !c.own() {
		return c.normed
	}
	n := c.rows * c.x.cols
	d.normed = grow(d.normed, n)
	m := mat{f: d.normed, rows: c.rows, cols: c.x.cols, stride: c.x.cols}
	if d.normTurn != c.turn {
		c.norms(ks, m, 0, c.rows*c.streams)
		d.normTurn = c.turn
	}
	return m
}

func (s *stream) mixUnits(worker, stage, lo, hi int) {
	c := &s.mix
	d, ks := &s.desk[worker], s.dev.kernels
	if c.tall {
		for range hi - lo {
			from, rows := c.rowsOf(c.next(worker, stage))
			c.norms(ks, c.normed, from*c.streams, (from+rows)*c.streams)
			d.products(ks, c.first, 0, tilesOf(c.first), c.normed, from, rows, c.turn<<3)
			c.gains(from, rows)
			c.columns(d, ks, c.normed, 0, c.u.cols, from, rows)
		}
		return
	}
	switch stage {
	case 0:
		c.norms(ks, c.normed, lo, hi)
	case 1:
		normed := c.streamsOf(d, ks)
		first := c.first
		if c.late {
			first = first[:1]
		}
		tiles, half := tilesOf(first), (c.rows+c.halves-1)/c.halves
		for lo < hi {
			from, tile := lo/tiles*half, lo%tiles
			n := min(hi-lo, tiles-tile)
			d.products(ks, first, tile, tile+n, normed, from, min(half, c.rows-from), c.turn<<3|uint64(lo/tiles))
			lo += n
		}
	default:
		normed := c.streamsOf(d, ks)
		if lo < c.parts() {
			c.columns(d, ks, normed, lo*c.width, min(hi*c.width, c.u.cols), 0, c.rows)
		}
		if hi > c.parts() {
			d.products(ks, c.first[1:], 0, c.first[1].w.tiles, normed, 0, c.rows, c.turn<<3|2)
		}
		if c.late && hi > c.parts() || !c.late && lo == 0 {
			c.gains(0, c.rows)
		}
	}
}

// norms does groups lo..hi-1, group g being stream g mod S of row g / S.
func (c *mixCall) norms(ks *kernelSet, normed mat, lo, hi int) {
	h := c.u.cols
	for lo < hi {
		r, first := lo/c.streams, lo%c.streams
		n := min(c.streams-first, hi-lo)
		o := first * h
		norms(ks.simd(), normed.row(r)[o:], c.x.row(r)[o:], c.norm[o:], normSteps{h, h, h}, h, n, float32(h), c.eps)
		lo += n
	}
}

// parts is the number of column ranges of u.
func (c *mixCall) parts() int { return (c.u.cols + c.width - 1) / c.width }

// gains turns the products of inject into gains, for rows lo..lo+rows-1.
func (c *mixCall) gains(lo, rows int) {
	for r := lo; r < min(lo+rows, c.c.rows); r++ {
		g := c.c.row(r)
		for i, v := range g {
			g[i] = 2 * sigmoid(float32(v*c.scale))
		}
	}
}

// columns makes columns from..to-1 of u for rows lo..lo+rows-1.
func (c *mixCall) columns(d *desk, ks *kernelSet, normed mat, from, to, lo, rows int) {
	h, inner := c.u.cols, c.up.cols
	if key := c.turn<<32 + uint64(lo); d.lowKey != key {
		d.low = grow(d.low, rows*inner)
		for r := range rows {
			copy(d.low[r*inner:][:inner], c.low.row(lo+r))
		}
		siluScaleRows(ks, mat{f: d.low, rows: rows, cols: inner, stride: inner}, c.scale, 0, rows)
		d.lowKey = key
	}
	x := rowsOf{base: unsafe.Pointer(unsafe.SliceData(d.low)), stride: uintptr(inner) * 4}
	x = d.input(ks, c.up, x, rows, c.turn<<32+uint64(lo)+1<<63)
	for ; from < to; from += c.width {
		n := min(c.width, to-from)
		wide := c.streams * n
		d.part = grow(d.part, rows*wide)
		for s := range c.streams {
			d.multiply(ks, c.up, 0, (s*h+from)/tileN, n/tileN, &x, rows, unsafe.Pointer(&d.part[s*n]), uintptr(wide)*4)
		}
		for r := range rows {
			mixStreams(ks, c.u.row(lo + r)[from:from+n], d.part[r*wide:][:wide], normed.row(lo + r)[from:], n, h, c.streams)
		}
	}
}

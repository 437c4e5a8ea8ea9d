package cpu

import (
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

var _ metal.FusedMoE = (*stream)(nil)

// moeCall is the RunMoE in progress.
type moeCall struct {
	call
	fn func(worker, stage, lo, hi int)

	m              *metal.MoE
	x, c, y, u     mat
	logits, w      mat
	ids            imat
	sg, su, sy, s  mat
	first          []target // products of u: router, the shared expert's gate and up, its share
	gate, up, down *weight
	shared         *weight // the shared expert's down

	readyX, readyH prepared
	rowsX, rowsH   rowsOf // all rows of u and of hidden in the form of the experts' weights
	hidden         []float32
	inner          mat // hidden as [pairs, I]
	answers        []float32
	answer         mat // answers as [pairs, H]; no rows: they are added up as they are made
}

// The stages of a RunMoE.
const (
	moeFirst = iota // the products of u; tall: up to the routes and the shared expert's answer
	moeRoute        // narrow: routes; tall: nothing
	moeInner        // the experts' hidden values
	moeOuter        // the answers, added up expert by expert, and into the streams; tall and few: only added up
	moeStages
)

// ownRoutes is the rows up to which every thread finds the routes for itself, which is quicker than to wait for one.
const ownRoutes = 2

// mostAnswers is the values of answers that are kept until they are added up row by row. More of them would take more memory than
// that saves time.
const mostAnswers = 1 << 20

// expertParts is the parts that the pairs of an expert are cut into, to even out the threads.
const expertParts = 2

// RunMoE is a block of experts in one fork-join.
func (s *stream) RunMoE(x, cm, y, u metal.Mat, m *metal.MoE, sc metal.MoEScratch) {
	if !alike(m.Gate.(*weight), m.Up.(*weight)) {
		metal.ComposeMoE(s, x, cm, y, u, m, sc) // rows are prepared twice: no pack that we know of needs it fused
		return
	}
	c := &s.moe
	c.gate, c.up, c.down, c.shared = m.Gate.(*weight), m.Up.(*weight), m.Down.(*weight), m.SharedDown.(*weight)
	c.first = c.first[:0]
	for _, t := range [4]metal.LinearTo{{Dst: sc.Logits, W: m.Router}, {Dst: sc.SharedGate, W: m.SharedGate}, {Dst: sc.SharedUp, W: m.SharedUp},
		{Dst: sc.Share, W: m.SharedExpertGate}} {
		checkLinear("RunMoE", t.Dst, u, t.W.(*weight))
		c.first = append(c.first, target{t.W.(*weight), matOf(t.Dst)})
	}
	checkLinear("RunMoE", sc.Shared, sc.SharedGate, c.shared)
	checkInject("RunMoE", x, cm, y)
	checkExperts("RunMoE", c.gate, c.up, c.down, y, u, sc.IDs, sc.Weights)
	if sc.Share.Cols != 1 || sc.Shared.Cols != y.Cols || sc.SharedUp.Cols != sc.SharedGate.Cols || sc.Logits.Cols != c.gate.stack ||
		m.TopK < 1 || m.TopK > sc.Logits.Cols || sc.IDs.Cols != m.TopK {
		want(false, "RunMoE", "share [%d], shared [%d], y [%d], gate [%d], up [%d], logits [%d], %d experts, top %d of [%d]", sc.Share.Cols,
			sc.Shared.Cols, y.Cols, sc.SharedGate.Cols, sc.SharedUp.Cols, sc.Logits.Cols, c.gate.stack, m.TopK, sc.IDs.Cols)
	}
	if u.Rows == 0 {
		return
	}
	c.call = s.begin(u.Rows)
	c.m, c.x, c.c, c.y, c.u = m, matOf(x), matOf(cm), matOf(y), matOf(u)
	c.logits, c.w, c.ids = matOf(sc.Logits), matOf(sc.Weights), imatOf(sc.IDs)
	c.sg, c.su, c.sy, c.s = matOf(sc.SharedGate), matOf(sc.SharedUp), matOf(sc.Shared), matOf(sc.Share)
	pairs, inner, hidden := c.rows*m.TopK, c.gate.rows, c.gate.cols
	c.hidden = grow(c.hidden, pairs*inner)
	c.inner = mat{f: c.hidden, rows: pairs, cols: inner, stride: inner}
	c.answer, c.rowsX, c.rowsH = mat{}, c.u.span(0), c.inner.span(0)
	if c.gate.layout.affine() {
		c.rowsX = c.readyX.room(c.rows, c.gate)
	}
	if c.down.layout.affine() {
		c.rowsH = c.readyH.room(pairs, c.down)
	}
	active := min(pairs, c.gate.stack) // experts that can have rows
	perExpert := (pairs + active - 1) / active
	stages := [moeStages]stage{
		moeFirst: {n: tilesOf(c.first), grain: max(1, pieceWork/(hidden*tileN*c.rows))},
		moeRoute: {n: c.rows, grain: 1},
		moeInner: {n: active * c.gate.tiles, grain: max(1, pieceWork/(2*hidden*tileN*perExpert)), uneven: c.rows > 1},
		moeOuter: {n: c.down.tiles, grain: max(1, pieceWork/(inner*tileN*pairs))},
	}
	if c.rows <= ownRoutes {
		stages[moeRoute] = stage{}
	}
	if c.tall {
		stages[moeFirst], stages[moeRoute] = c.perChunk(), stage{}
		stages[moeInner] = stage{n: active, grain: 1, even: true}
		if pairs*hidden <= mostAnswers {
			c.answers = grow(c.answers, pairs*hidden)
			c.answer = mat{f: c.answers, rows: pairs, cols: hidden, stride: hidden}
			stages[moeInner].n = active * expertParts
			stages[moeOuter] = c.perChunk()
		}
	}
	s.workers.runStages(stages[:], c.fn)
	clear(c.first)
	*c = moeCall{fn: c.fn, first: c.first[:0], readyX: c.readyX, readyH: c.readyH, hidden: c.hidden, answers: c.answers}
}

func (s *stream) moeUnits(worker, stage, lo, hi int) {
	c := &s.moe
	d, ks := &s.desk[worker], s.dev.kernels
	turn := c.turn << 3
	switch {
	case stage == moeFirst && c.tall:
		for range hi - lo {
			from, rows := c.rowsOf(c.next(worker, stage))
			d.products(ks, c.first, 0, tilesOf(c.first), c.u, from, rows, turn)
			c.keepX(d, ks, from, rows, turn)
			routeRows(ks, c.ids, c.w, c.logits, c.m.Renorm, from, from+rows)
			siluMulRows(ks, c.sg, c.sg, c.su, from, from+rows)
			d.product(ks, c.shared, 0, c.shared.tiles, c.sy, from, rows, d.input(ks, c.shared, c.sg.span(from), rows, turn|1))
		}
	case stage == moeFirst:
		d.products(ks, c.first, lo, hi, c.u, 0, c.rows, turn)
	case stage == moeRoute:
		routeRows(ks, c.ids, c.w, c.logits, c.m.Renorm, lo, hi)
		c.prepareX(ks, lo, hi)
	case stage == moeInner && c.answer.rows > 0:
		l := d.pairs(c, ks)
		for u := lo; u < min(hi, len(l.active)*expertParts); u++ {
			c.expert(d, ks, l, int(l.active[u/expertParts]), u%expertParts)
		}
	case stage == moeInner:
		l := d.pairs(c, ks)
		tiles := c.gate.tiles
		if c.tall {
			lo, hi = lo*tiles, hi*tiles
		}
		x := c.rowsX
		if c.own() {
			x = d.input(ks, c.gate, c.u.span(0), c.rows, turn)
		}
		innerUnits(d, ks, l, c.gate, c.up, x, x, c.hidden, lo, min(hi, len(l.active)*tiles))
		if c.tall && c.down.layout.affine() {
			for _, e := range l.active[min(lo/tiles, len(l.active)):min(hi/tiles, len(l.active))] {
				prepareRows(ks, c.rowsH, c.inner.span(0), c.down, int(l.first[e]), int(l.first[e+1]))
			}
		}
	case c.answer.rows > 0:
		l := d.pairs(c, ks)
		for range hi - lo {
			from, rows := c.rowsOf(c.next(worker, stage))
			for r := from; r < from+rows; r++ {
				c.addUp(d, ks, l, r)
			}
		}
	default:
		c.outer(d, ks, lo, hi)
	}
}

// expert makes the answers of a part of an expert's pairs, which stay in the first cache from product to product.
func (c *moeCall) expert(d *desk, ks *kernelSet, l *pairList, e, part int) {
	from, to := int(l.first[e]), int(l.first[e+1])
	each := (to - from + expertParts*maxRows - 1) / (expertParts * maxRows) * maxRows
	from = min(from+part*each, to)
	to = min(from+each, to)
	if from == to {
		return
	}
	innerRows(d, ks, l, c.gate, c.up, c.rowsX, c.rowsX, c.hidden, e, 0, c.gate.tiles, from, to)
	if c.down.layout.affine() {
		prepareRows(ks, c.rowsH, c.inner.span(0), c.down, from, to)
	}
	h := c.rowsH
	h.base = unsafe.Add(h.base, uintptr(from)*h.stride)
	d.multiply(ks, c.down, e, 0, c.down.tiles, &h, to-from, unsafe.Pointer(&c.answer.f[from*c.answer.stride]), uintptr(c.answer.stride)*4)
}

// term is one of the rows that make a sum, with its weight.
type term struct {
	x     unsafe.Pointer
	scale float32
}

// addUp makes row r of y, experts ascending and then the shared one, and adds it to the streams.
func (c *moeCall) addUp(d *desk, ks *kernelSet, l *pairList, r int) {
	y, k := c.y.row(r), c.ids.cols
	d.terms = d.terms[:0]
	for i, at := range l.place[r*k:][:k] {
		d.terms = append(d.terms, term{unsafe.Pointer(unsafe.SliceData(c.answer.row(int(at)))), c.w.row(r)[i]})
	}
	d.terms = append(d.terms, term{unsafe.Pointer(unsafe.SliceData(c.sy.row(r))), sigmoid(c.s.row(r)[0])})
	x, gains := c.x.row(r), c.c.row(r)
	done := headAddUp(ks.simd(), y, d.terms, x, len(y), gains)
	if rest := y[done:]; len(rest) > 0 {
		clear(rest)
		for _, t := range d.terms {
			ks.addScaled(rest, unsafe.Slice((*float32)(t.x), len(y))[done:], t.scale)
		}
		inject(ks, c.x, c.c, c.y, r, 1, done, len(rest))
	}
}

// prepareX prepares rows lo..hi-1 of u for the experts.
func (c *moeCall) prepareX(ks *kernelSet, lo, hi int) {
	if c.gate.layout.affine() {
		prepareRows(ks, c.rowsX, c.u.span(0), c.gate, lo, hi)
	}
}

// keepX is prepareX for rows of a chunk, which the desk mostly has in that form.
func (c *moeCall) keepX(d *desk, ks *kernelSet, from, rows int, turn uint64) {
	if c.gate.layout.affine() {
		x, n := d.input(ks, c.gate, c.u.span(from), rows, turn), rows*int(c.rowsX.stride)
		copy(unsafe.Slice((*byte)(c.rowsX.at(from)), n), unsafe.Slice((*byte)(x.base), n))
	}
}

// own says whether threads find the routes for themselves.
func (c *moeCall) own() bool { return !c.tall && c.rows <= ownRoutes }

// pairs is the list of pairs of the call, which every desk sorts for itself: that is quicker than to wait for it.
func (d *desk) pairs(c *moeCall, ks *kernelSet) *pairList {
	if d.listTurn != c.turn {
		ids, w := c.ids, c.w
		if c.own() {
			d.ids, d.weights = grow(d.ids, c.rows*ids.cols), grow(d.weights, c.rows*ids.cols)
			ids = imat{i: d.ids, rows: c.rows, cols: ids.cols, stride: ids.cols}
			w = mat{f: d.weights, rows: c.rows, cols: w.cols, stride: w.cols}
			routeRows(ks, ids, w, c.logits, c.m.Renorm, 0, c.rows)
		}
		d.list.sort(ids, w, c.gate.stack)
		d.listTurn = c.turn
	}
	return &d.list
}

// outer does output tiles lo..hi-1: the experts, the shared one, the streams.
func (c *moeCall) outer(d *desk, ks *kernelSet, lo, hi int) {
	l, turn := d.pairs(c, ks), c.turn<<3|moeOuter
	h := c.rowsH
	if !c.tall {
		h = d.input(ks, c.down, c.inner.span(0), len(l.row), turn)
	}
	outerUnits(d, ks, l, c.down, h, c.y, lo, hi)
	col, n := columnsOf(lo, hi, c.y.cols)
	if !c.tall {
		d.act = grow(d.act, c.rows*c.sg.cols)
		if d.actTurn != c.turn {
			siluMulRows(ks, mat{f: d.act, rows: c.rows, cols: c.sg.cols, stride: c.sg.cols}, c.sg, c.su, 0, c.rows)
			d.actTurn = c.turn
		}
		x := d.second(ks, c.shared, rowsOf{base: unsafe.Pointer(unsafe.SliceData(d.act)), stride: uintptr(c.sg.cols) * 4}, c.rows, turn)
		d.product(ks, c.shared, lo, hi-lo, c.sy, 0, c.rows, x)
	}
	for r := range c.rows {
		ks.addScaled(c.y.row(r)[col:][:n], c.sy.row(r)[col:][:n], sigmoid(c.s.row(r)[0]))
	}
	inject(ks, c.x, c.c, c.y, 0, c.rows, col, n)
}

package conform

import (
	"fmt"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// attendTol: outputs are averages of values of about 1; scores of a few units lose about 1e-6, which moves the weights by as
// much.
var attendTol = tolerance{abs: 5e-6, rel: 5e-6}

func attendCases() []opCase {
	type span struct{ n, pos int }
	var all []opCase
	for _, s := range []struct {
		name  string
		spans []span
		shape metal.AttendShape
	}{
		{"empty", []span{{0, 3}}, metal.AttendShape{Heads: 2, KVHeads: 1, Dim: 8, Ratio: 4, Top: 2}},
		{"first", []span{{1, 0}}, metal.AttendShape{Heads: 1, KVHeads: 1, Dim: 1, Ratio: 4, Top: 2}},
		{"dense-odd", []span{{5, 0}, {0, 4}, {3, 17}}, metal.AttendShape{Heads: 6, KVHeads: 2, Dim: 24, Ratio: 3, Top: 8}},
		{"sparse-odd", []span{{7, 20}, {2, 90}}, metal.AttendShape{Heads: 6, KVHeads: 2, Dim: 24, Ratio: 3, Top: 8}},
		{"ragged", []span{{4, 61}}, metal.AttendShape{Heads: 3, KVHeads: 3, Dim: 19, Ratio: 5, Top: 4}},
		{"nano-dense", []span{{4, 200}}, metal.AttendShape{Heads: 8, KVHeads: 2, Dim: 64, Ratio: 4, Top: 64}},
		{"nano-sparse", []span{{4, 1000}}, metal.AttendShape{Heads: 8, KVHeads: 2, Dim: 64, Ratio: 4, Top: 64}},
		{"nano-prefill", []span{{64, 0}}, metal.AttendShape{Heads: 8, KVHeads: 2, Dim: 64, Ratio: 4, Top: 64}},
		{"wide", []span{{2, 40}}, metal.AttendShape{Heads: 12, KVHeads: 1, Dim: 256, Ratio: 4, Top: 6}},
	} {
		all = append(all, opCase{"Attend", s.name, func(e *env) *call {
			var ns []int
			rows, last := 0, 0
			for _, sp := range s.spans {
				ns = append(ns, sp.n)
				rows += sp.n
				last = max(last, sp.pos+sp.n)
			}
			return newAttend(e, s.shape, ns, rows, last, func(k int) int { return s.spans[k].pos })
		}})
	}
	return all
}

func newAttend(e *env, shape metal.AttendShape, ns []int, rows, last int, pos func(k int) int) *call {
	kv, w := shape.KVHeads*shape.Dim, shape.Heads*shape.Dim
	q, gate, dst := e.in(rows, w, e.normal), e.in(rows, 2*w, e.scaled(2)), e.out(rows, w)
	const room = 3 // positions past the last row: what lies there must not be seen
	var spans []metal.AttendSpan
	var keys, values []*operand
	blocks := make([][]int, rows) // per row, nil where it is dense
	at, bytes := 0, 0
	for k, n := range ns {
		size := (pos(k) + n + room) * kv
		cache := func() *operand {
			c := e.vec(size, e.normal)
			poison(c.host(0)[size-room*kv:])
			c.reset()
			return c
		}
		keys, values = append(keys, cache()), append(values, cache())
		spans = append(spans, metal.AttendSpan{Span: metal.Span{Row: at, N: n, Pos: pos(k)}, K: keys[k].Vec(), V: values[k].Vec()})
		for i := range n {
			if nb := (pos(k) + i + 1) / shape.Ratio; nb > shape.Top {
				blocks[at+i] = e.subset(shape.Top, nb)
			}
			bytes += 8 * kv * min(pos(k)+i, shape.Top*shape.Ratio)
		}
		at += n
	}
	sel := e.selection(blocks, shape.Top, last/shape.Ratio)
	tokens := func(k, i int) []int { return attended(blocks[spans[k].Row+i], pos(k)+i, shape.Ratio) }
	return &call{rows: rows, outs: []*operand{dst}, bytes: int64(bytes),
		run: func(st metal.Stream, lo, hi int) {
			var parts []metal.AttendSpan
			clip(ns, lo, hi, func(k, from, n int) {
				sp := spans[k]
				sp.Row, sp.Pos, sp.N = sp.Row+from, sp.Pos+from, n
				parts = append(parts, sp)
			})
			st.Attend(dst.Mat, q.Mat, gate.Mat, sel, shape, parts)
		},
		check: func() {
			var want []float64
			for k, sp := range spans {
				for i := range sp.N {
					want = append(want, attendRef(q.row(sp.Row+i), gate.row(sp.Row+i), keys[k].row(0), values[k].row(0), tokens(k, i), shape)...)
				}
			}
			e.near("Attend", w, dst.read(), want, attendTol)
			whole := dst.bits()
			for k, sp := range spans {
				for i := range sp.N {
					r := sp.Row + i
					got := attendGathered(e, q.RowsOf(r, 1), gate.RowsOf(r, 1), keys[k].host(0), values[k].host(0), tokens(k, i), shape)
					e.same(fmt.Sprintf("Attend row %d, dense over only its own tokens, against the pass", r), got, whole[r*w:(r+1)*w])
				}
			}
		},
	}
}

// selection is the I32 matrix of the rows' blocks; dense rows get some blocks too, which nobody may read.
func (e *env) selection(blocks [][]int, top, n int) metal.Mat {
	ids, sparse := make([][]int, len(blocks)), false
	for r, b := range blocks {
		sparse = sparse || b != nil
		if ids[r] = b; b == nil && n >= top {
			ids[r] = e.subset(top, n)
		}
	}
	if !sparse {
		return metal.Mat{Cols: top, Stride: top}
	}
	return e.chosen(ids, n).Mat
}

// attended lists the tokens a row at position t sees: its blocks' and the tail's, or all of them if blocks is nil.
func attended(blocks []int, t, ratio int) []int {
	var list []int
	from := 0
	if blocks != nil {
		for _, b := range blocks {
			for j := range ratio {
				list = append(list, b*ratio+j)
			}
		}
		from = (t + 1) / ratio * ratio
	}
	for j := from; j <= t; j++ {
		list = append(list, j)
	}
	return list
}

// attendGathered runs one row densely over a cache of just the given tokens, and returns its bits: a row that selects
// blocks must give the bits of a dense row over the same tokens.
func attendGathered(e *env, q, gate metal.Mat, keys, values []float32, tokens []int, shape metal.AttendShape) []uint32 {
	kv := shape.KVHeads * shape.Dim
	gather := func(x []float32) metal.Vec {
		var y []float32
		for _, t := range tokens {
			y = append(y, x[t*kv:(t+1)*kv]...)
		}
		i := 0
		return e.vec(len(y), func() float32 { i++; return y[i-1] }).Vec()
	}
	shape.Top = len(tokens)
	dst := e.out(1, shape.Heads*shape.Dim)
	e.st.Attend(dst.Mat, q, gate, metal.Mat{Cols: shape.Top, Stride: shape.Top}, shape,
		[]metal.AttendSpan{{Span: metal.Span{N: 1, Pos: len(tokens) - 1}, K: gather(keys), V: gather(values)}})
	return dst.bits()
}

// attendRef is one row of gated attention over the given tokens (spec 2.5).
func attendRef(q, gate, keys, values []float64, tokens []int, shape metal.AttendShape) []float64 {
	dim, kv := shape.Dim, shape.KVHeads*shape.Dim
	out := make([]float64, shape.Heads*dim)
	for h := range shape.Heads {
		at := h / (shape.Heads / shape.KVHeads) * dim
		p, top, z := make([]float64, len(tokens)), math.Inf(-1), 0.0
		for j, t := range tokens {
			p[j] = dotRef(q[h*dim:(h+1)*dim], keys[t*kv+at:]) / math.Sqrt(float64(dim))
			top = max(top, p[j])
		}
		for j := range p {
			p[j] = math.Exp(p[j] - top)
			z += p[j]
		}
		for j, t := range tokens {
			for i := range dim {
				out[h*dim+i] += p[j] / z * values[t*kv+at+i]
			}
		}
		for i := range dim {
			out[h*dim+i] *= sigmoidRef(gate[h*2*dim+dim+i])
		}
	}
	return out
}

// poison fills x with NaN.
func poison(x []float32) {
	for i := range x {
		x[i] = float32(math.NaN())
	}
}

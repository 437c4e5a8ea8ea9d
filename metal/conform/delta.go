package conform

import (
	"fmt"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// deltaTol: q and k have norm 1 and decay is below 1, so the state stays about 1 and each row adds a few roundings of it;
// 64 rows stay under this.
var deltaTol = tolerance{abs: 1e-5, rel: 1e-5}

func deltaCases() []opCase {
	var all []opCase
	for _, s := range []struct {
		name  string
		spans []int
		shape metal.DeltaShape
	}{
		{"empty", []int{0}, metal.DeltaShape{KeyHeads: 1, ValueHeads: 2, KeyDim: 4, ValueDim: 3}},
		{"one", []int{1}, metal.DeltaShape{KeyHeads: 1, ValueHeads: 1, KeyDim: 1, ValueDim: 1}},
		{"odd", []int{3, 0, 1, 6}, metal.DeltaShape{KeyHeads: 3, ValueHeads: 6, KeyDim: 20, ValueDim: 12}},
		{"ragged", []int{5, 2}, metal.DeltaShape{KeyHeads: 1, ValueHeads: 3, KeyDim: 33, ValueDim: 71}},
		{"nano", []int{4}, metal.DeltaShape{KeyHeads: 4, ValueHeads: 8, KeyDim: 32, ValueDim: 32}},
		{"prefill", []int{64}, metal.DeltaShape{KeyHeads: 4, ValueHeads: 8, KeyDim: 32, ValueDim: 32}},
		{"released", []int{4}, metal.DeltaShape{KeyHeads: 2, ValueHeads: 6, KeyDim: 128, ValueDim: 128}},
	} {
		all = append(all, opCase{"Delta", s.name, func(e *env) *call { return newDelta(e, s.spans, s.shape) }})
	}
	return all
}

func newDelta(e *env, ns []int, shape metal.DeltaShape) *call {
	rows, values := total(ns), shape.ValueHeads*shape.ValueDim
	state := values * shape.KeyDim
	qkv := e.in(rows, 2*shape.KeyHeads*shape.KeyDim+values, e.normal)
	beta, decay := e.in(rows, shape.ValueHeads, e.unit), e.in(rows, shape.ValueHeads, e.unit)
	o := e.out(rows, values)
	spans, outs, first := make([]metal.DeltaSpan, len(ns)), []*operand{o}, make([]*operand, len(ns))
	at := 0
	for k, n := range ns {
		first[k] = e.vec(state, e.scaled(0.3))
		next := e.out(1, state)
		spans[k] = metal.DeltaSpan{Span: metal.Span{Row: at, N: n, Pos: 7}, State: first[k].Vec(), Next: next.Vec()}
		outs = append(outs, next)
		at += n
	}
	return &call{rows: rows, outs: outs, bytes: int64(8 * state * len(ns)), whole: true,
		run: func(st metal.Stream, _, _ int) { st.Delta(o.Mat, qkv.Mat, beta.Mat, decay.Mat, shape, spans) },
		check: func() {
			got := o.read()
			for k, sp := range spans {
				s := first[k].row(0)
				var want []float64
				for i := range sp.N {
					r := sp.Row + i
					want = append(want, deltaRef(s, qkv.row(r), beta.row(r), decay.row(r), shape)...)
				}
				e.near(fmt.Sprintf("Delta output of span %d", k), values, got[sp.Row*values:(sp.Row+sp.N)*values], want, deltaTol)
				e.near(fmt.Sprintf("Delta state of span %d", k), shape.ValueDim, outs[1+k].read(), s, deltaTol)
				e.same(fmt.Sprintf("Delta: the state of span %d before, after the op", k), first[k].bits(), words(first[k].host(0)))
			}
			checkDeltaBits(e, outs, qkv, beta, decay, shape, spans, first)
		},
	}
}

// checkDeltaBits compares the bits of one pass with those of other ways to run the same rows.
func checkDeltaBits(e *env, outs []*operand, qkv, beta, decay *operand, shape metal.DeltaShape, spans []metal.DeltaSpan, first []*operand) {
	o := outs[0]
	want := make([][]uint32, len(outs))
	for i, x := range outs {
		want[i] = x.bits()
	}
	compare := func(how string, from int) {
		e.tb.Helper()
		for i, x := range outs {
			if i >= from {
				e.same(fmt.Sprintf("Delta output %d, %s against one pass", i, how), x.bits(), want[i])
			}
			x.reset()
		}
	}
	for _, x := range outs {
		x.reset()
	}
	e.st.Delta(metal.Mat{Cols: o.Cols, Stride: o.Stride}, qkv.Mat, beta.Mat, decay.Mat, shape, spans)
	compare("state only", 1)

	for _, sp := range spans {
		for i := range max(sp.N, 1) { // row by row: in place after the first
			row := sp
			row.Row, row.N = sp.Row+i, min(1, sp.N)
			if i > 0 {
				row.State = row.Next
			}
			e.st.Delta(o.Mat, qkv.Mat, beta.Mat, decay.Mat, shape, []metal.DeltaSpan{row})
		}
	}
	compare("row by row, span by span", 0)

	var inplace []metal.DeltaSpan
	for k, sp := range spans {
		e.st.Copy(sp.Next, first[k].Vec())
		sp.State = sp.Next
		inplace = append(inplace, sp)
	}
	e.st.Delta(o.Mat, qkv.Mat, beta.Mat, decay.Mat, shape, inplace)
	compare("in place", 0)
}

// deltaRef advances the state s by one row and returns its output (spec 2.4).
func deltaRef(s, qkv, beta, decay []float64, shape metal.DeltaShape) []float64 {
	kd, vd := shape.KeyDim, shape.ValueDim
	qk := shape.KeyHeads * kd
	out := make([]float64, shape.ValueHeads*vd)
	unit := func(x []float64) []float64 {
		y := make([]float64, len(x))
		inv := 1 / math.Sqrt(dotRef(x, x)+1e-6)
		for i, v := range x {
			y[i] = v * inv
		}
		return y
	}
	for h := range shape.ValueHeads {
		kh := h / (shape.ValueHeads / shape.KeyHeads)
		q, k, v := unit(qkv[kh*kd:(kh+1)*kd]), unit(qkv[qk+kh*kd:qk+(kh+1)*kd]), qkv[2*qk+h*vd:2*qk+(h+1)*vd]
		sh := s[h*kd*vd : (h+1)*kd*vd]
		for j := range vd {
			p := 0.0
			for i := range kd {
				sh[i*vd+j] *= decay[h]
				p += sh[i*vd+j] * k[i]
			}
			d := beta[h] * (v[j] - p)
			for i := range kd {
				sh[i*vd+j] += k[i] * d
				out[h*vd+j] += sh[i*vd+j] * q[i] / math.Sqrt(float64(kd))
			}
		}
	}
	return out
}

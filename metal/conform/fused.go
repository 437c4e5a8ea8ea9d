package conform

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// fusedTol: a fused block may sum in another order than its composition, a few times in a row.
var fusedTol = tolerance{abs: 1e-4, rel: 1e-4}

// fusedCases holds what a device claims as fused to the default composition, whose ops have cases of their own: both run on
// the same operands. The row checks of every case hold the fused path to its own bits.
func fusedCases() []opCase {
	var all []opCase
	for _, f := range []format{formats[0], formats[2], formats[3], formats[4], formats[5]} {
		for _, rows := range []int{0, 1, 3, 8, 41, 70} {
			all = append(all, opCase{"Linears", fmt.Sprintf("%s-r%d", f, rows), func(e *env) *call { return newLinears(e, f, rows) }})
			all = append(all, opCase{"RunMoE", fmt.Sprintf("%s-r%d", f, rows), func(e *env) *call { return newMoE(e, f, rows) }})
		}
		for _, spans := range [][]int{{0}, {1}, {4}, {2, 1, 5}, {70}, {33, 1, 9}} {
			all = append(all, opCase{"RunDeltaNet", fmt.Sprintf("%s-%v", f, spans), func(e *env) *call { return newDeltaNet(e, f, spans) }})
		}
	}
	return all
}

// copyOf is an operand with the first contents of o.
func (e *env) copyOf(o *operand) *operand {
	c := e.inout(o.Rows, o.Cols, func() float32 { return 0 })
	for r := range o.Rows {
		copy(c.init[c.Off+r*c.Stride:][:c.Cols], o.host(r))
	}
	c.reset()
	return c
}

// both checks that the outputs of the fused block and of its composition agree.
func (e *env) both(what string, fused, composed []*operand) {
	e.tb.Helper()
	for i := range fused {
		e.near(fmt.Sprintf("%s output %d against its composition", what, i), fused[i].Cols, fused[i].read(), wide(composed[i].read()), fusedTol)
	}
}

func newLinears(e *env, f format, rows int) *call {
	const k, h, streams = 64, 40, 3
	in, a, b := e.in(rows, k, e.normal), e.weight(f, 1, 33, k), e.weight(f, 1, h, k)
	outA, outB, x := e.out(rows, 33), e.out(rows, h), e.inout(rows, streams*h, e.normal)
	c, y := e.in(rows, streams, e.unit), e.out(rows, h)
	outs := []*operand{outA, outB, x, y}
	return &call{rows: rows, outs: outs, bytes: a.Bytes() + 2*b.Bytes(),
		run: func(st metal.Stream, lo, hi int) {
			part := func(o *operand) metal.Mat { return o.RowsOf(lo, hi-lo) }
			metal.Linears(st, part(in), []metal.LinearTo{{Dst: part(outA), W: a.Weight}, {Dst: part(outB), W: b.Weight}})
			metal.LinearInject(st, part(x), part(c), part(y), part(in), b.Weight)
		},
		check: func() {
			wantA, wantB, wantX, wantY := e.out(rows, 33), e.out(rows, h), e.copyOf(x), e.out(rows, h)
			e.st.Linear(wantA.Mat, in.Mat, a.Weight)
			e.st.Linear(wantB.Mat, in.Mat, b.Weight)
			e.st.Linear(wantY.Mat, in.Mat, b.Weight)
			e.st.Inject(wantX.Mat, c.Mat, wantY.Mat)
			e.both("Linears", outs, []*operand{wantA, wantB, wantX, wantY})
		},
	}
}

func newMoE(e *env, f format, rows int) *call {
	const h, inner, shared, experts, top, streams = 64, 64, 64, 6, 3, 3
	m := &metal.MoE{
		Router: e.weight(f, 1, experts, h).Weight, Gate: e.weight(f, experts, inner, h).Weight, Up: e.weight(f, experts, inner, h).Weight,
		Down: e.weight(f, experts, h, inner).Weight, SharedGate: e.weight(f, 1, shared, h).Weight, SharedUp: e.weight(f, 1, shared, h).Weight,
		SharedDown: e.weight(f, 1, h, shared).Weight, SharedExpertGate: e.weight(f, 1, 1, h).Weight, TopK: top, Renorm: true,
	}
	u, c := e.in(rows, h, e.normal), e.in(rows, streams, e.unit)
	x, y := e.inout(rows, streams*h, e.normal), e.out(rows, h)
	room := func() metal.MoEScratch {
		return metal.MoEScratch{
			Logits: e.out(rows, experts).Mat, IDs: e.outInts(rows, top).Mat, Weights: e.out(rows, top).Mat, SharedGate: e.out(rows, shared).Mat,
			SharedUp: e.out(rows, shared).Mat, Shared: e.out(rows, h).Mat, Share: e.out(rows, 1).Mat,
		}
	}
	s, outs := room(), []*operand{x, y}
	return &call{rows: rows, outs: outs, bytes: m.Gate.Bytes() + m.Up.Bytes() + m.Down.Bytes(),
		run: func(st metal.Stream, lo, hi int) {
			part := func(m metal.Mat) metal.Mat { return m.RowsOf(lo, hi-lo) }
			metal.RunMoE(st, part(x.Mat), part(c.Mat), part(y.Mat), part(u.Mat), m, metal.MoEScratch{
				Logits: part(s.Logits), IDs: part(s.IDs), Weights: part(s.Weights), SharedGate: part(s.SharedGate), SharedUp: part(s.SharedUp),
				Shared: part(s.Shared), Share: part(s.Share),
			})
		},
		check: func() {
			wantX, wantY := e.copyOf(x), e.out(rows, h)
			metal.ComposeMoE(e.st, wantX.Mat, c.Mat, wantY.Mat, u.Mat, m, room())
			e.both("RunMoE", outs, []*operand{wantX, wantY})
		},
	}
}

func newDeltaNet(e *env, f format, ns []int) *call {
	const h, streams, taps = 64, 3, 4
	shape := metal.DeltaShape{KeyHeads: 2, ValueHeads: 4, KeyDim: 20, ValueDim: 16}
	channels, values := 2*shape.KeyHeads*shape.KeyDim+shape.ValueHeads*shape.ValueDim, shape.ValueHeads*shape.ValueDim
	n := &metal.DeltaNet{
		QKV: e.weight(f, 1, channels, h).Weight, Z: e.weight(f, 1, values, h).Weight, B: e.weight(f, 1, shape.ValueHeads, h).Weight,
		A: e.weight(f, 1, shape.ValueHeads, h).Weight, Out: e.weight(f, 1, h, values).Weight, Conv: e.vec(taps*channels, e.scaled(0.6)).Vec(),
		Rate: e.vec(shape.ValueHeads, func() float32 { return -e.unit() }).Vec(), Bias: e.vec(shape.ValueHeads, e.normal).Vec(),
		Norm: e.vec(shape.ValueDim, e.near1).Vec(), Taps: taps, Shape: shape, Eps: 1e-6,
	}
	rows := total(ns)
	u, c := e.in(rows, h, e.normal), e.in(rows, streams, e.unit)
	var conv []metal.ConvSpan
	var first []*operand
	at := 0
	for _, k := range ns {
		first = append(first, e.vec(values*shape.KeyDim, e.scaled(0.3)))
		conv = append(conv, metal.ConvSpan{Span: metal.Span{Row: at, N: k, Pos: 9}, Tail: e.vec((taps-1)*channels, e.normal).Vec()})
		at += k
	}
	// Everything a run writes: x, y, pre, post, beta, decay, then the states.
	x := e.inout(rows, streams*h, e.normal)
	room := func(x *operand) (outs []*operand, run func(st metal.Stream, compose bool)) {
		outs = []*operand{x, e.out(rows, h), e.out(rows, channels), e.out(rows, channels), e.out(rows, shape.ValueHeads), e.out(rows, shape.ValueHeads)}
		var delta []metal.DeltaSpan
		for k := range ns {
			next := e.out(1, values*shape.KeyDim)
			outs = append(outs, next)
			delta = append(delta, metal.DeltaSpan{Span: conv[k].Span, State: first[k].Vec(), Next: next.Vec()})
		}
		kept := metal.DeltaNetRows{Pre: outs[2].Mat, Post: outs[3].Mat, Beta: outs[4].Mat, Decay: outs[5].Mat}
		s := metal.DeltaNetScratch{Z: e.out(rows, values).Mat, O: e.out(rows, values).Mat, B: e.out(rows, shape.ValueHeads).Mat,
			A: e.out(rows, shape.ValueHeads).Mat}
		return outs, func(st metal.Stream, compose bool) {
			do := metal.RunDeltaNet
			if compose {
				do = metal.ComposeDeltaNet
			}
			do(st, outs[0].Mat, c.Mat, outs[1].Mat, u.Mat, n, kept, s, conv, delta)
		}
	}
	outs, run := room(x)
	return &call{rows: rows, outs: outs, bytes: n.QKV.Bytes() + n.Z.Bytes() + n.Out.Bytes(), whole: true,
		run: func(st metal.Stream, _, _ int) { run(st, false) },
		check: func() {
			want, compose := room(e.copyOf(x))
			compose(e.st, true)
			e.both("RunDeltaNet", outs, want)
		},
	}
}

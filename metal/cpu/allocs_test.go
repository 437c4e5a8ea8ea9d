package cpu

import (
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// TestAllocs runs the ops of a decode step of the nano pack, 4 rows on one thread. Ops small enough to run on the caller
// allocate nothing; those that may be shared among threads allocate the closure they share.
func TestAllocs(t *testing.T) {
	d := open(t, Options{Threads: 1})
	st := d.NewStream()
	mat := func(rows, cols int) metal.Mat {
		b, err := d.Alloc(metal.F32, rows*cols)
		if err != nil {
			t.Fatal(err)
		}
		return metal.NewMat(b, rows, cols)
	}
	ints := func(rows, cols int) metal.Mat {
		b, err := d.Alloc(metal.I32, rows*cols)
		if err != nil {
			t.Fatal(err)
		}
		return metal.NewMat(b, rows, cols)
	}
	const rows, h, s = 4, 256, 4
	x, y, w, c, u, z := mat(rows, s*h), mat(rows, s*h), mat(1, s*h).Row(0), mat(rows, s), mat(rows, h), mat(rows, h)
	one, cs := mat(rows, 1), mat(rows, 16)
	span := metal.Span{N: rows, Pos: 1000}
	tail, next := mat(3, 512), mat(3, 512)
	conv := []metal.ConvSpan{{Span: span, Tail: metal.NewVec(tail.Buf)}}
	keep := []metal.TailSpan{{Span: span, Keep: 2, Tail: metal.NewVec(tail.Buf), Next: metal.NewVec(next.Buf)}}
	shape := metal.DeltaShape{KeyHeads: 4, ValueHeads: 8, KeyDim: 32, ValueDim: 32}
	qkv, out, heads := mat(rows, 512), mat(rows, 512), mat(rows, 8)
	state := metal.NewVec(mat(8, 1024).Buf)
	delta := []metal.DeltaSpan{{Span: span, State: state, Next: state}}
	attend := metal.AttendShape{Heads: 8, KVHeads: 2, Dim: 64, Ratio: 4, Top: 64}
	q, gate, o := mat(rows, 512), mat(rows, 1024), mat(rows, 512)
	cache := metal.NewVec(mat(1004, 128).Buf)
	kv := []metal.AttendSpan{{Span: span, K: cache, V: cache}}
	bank := metal.NewVec(mat(260, 32).Buf)
	choose := []metal.SelectSpan{{Span: span, Bank: bank, Blocks: 250, Scratch: bank}}
	sel, ids, weights, logits := ints(rows, 64), ints(rows, 4), mat(rows, 4), mat(rows, 16)
	dim, head, few, taps, qi := mat(1, 64).Row(0), mat(1, 32).Row(0), mat(1, 8).Row(0), mat(1, 4*512).Row(0), mat(rows, 128)
	pool := []metal.PoolSpan{{Raw: bank, Block: 2, N: 1, Dst: mat(1, 32), Angle: mat(1, 8)}}
	for _, op := range []struct {
		name string
		most float64
		run  func()
	}{
		{"Norm", 0, func() { st.Norm(y, x, w, s, 1e-6) }},
		{"SiluScale", 0, func() { st.SiluScale(u, 0.25) }},
		{"SiluMul", 0, func() { st.SiluMul(u, u, z) }},
		{"MixStreams", 1, func() { st.MixStreams(u, x, y, s) }},
		{"Gain", 0, func() { st.Gain(c, 0.25) }},
		{"Inject", 0, func() { st.Inject(x, c, u) }},
		{"AddStreams", 0, func() { st.AddStreams(x, u) }},
		{"AddBoth", 0, func() { st.AddBoth(x, y, x) }},
		{"Conv", 0, func() { st.Conv(out, qkv, taps, 4, 1, conv) }},
		{"KeepTail", 0, func() { st.KeepTail(qkv, keep) }},
		{"Decay", 0, func() { st.Decay(heads, heads, heads, heads, few, few) }},
		{"Delta", 1, func() { st.Delta(u.ColsOf(0, 256), qkv, heads, heads, shape, delta) }},
		{"GatedNorm", 0, func() { st.GatedNorm(u, u, z, head, 1e-6, metal.Sigmoid) }},
		{"NormRope", 0, func() { st.NormRope(o, gate, dim, 8, 64, 128, 1e-6, cs) }},
		{"Pool", 0, func() { st.Pool(head, 32, 4, 1e-6, pool) }},
		{"Select", 4, func() { st.Select(sel, qi, 4, 32, 4, 64, choose) }},
		{"Attend", 1, func() { st.Attend(o, q, gate, sel, attend, kv) }},
		{"Route", 0, func() { st.Route(ids, weights, logits, true) }},
		{"AddGated", 0, func() { st.AddGated(u, one, z) }},
		{"Gate", 0, func() { st.Gate(x, y, y, u) }},
		{"ArgMax", 0, func() { st.ArgMax(ids.ColsOf(0, 1), x) }},
	} {
		t.Run(op.name, func(t *testing.T) {
			op.run()
			if got := testing.AllocsPerRun(20, op.run); got > op.most {
				t.Errorf("%s of %d rows: got %g allocations, want at most %g", op.name, rows, got, op.most)
			}
		})
	}
}

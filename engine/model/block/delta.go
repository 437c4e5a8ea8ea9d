package block

import (
	"math"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// Delta is a gated delta net layer (spec 2.4).
type Delta struct {
	metal.DeltaNet
}

// LoadDelta loads the layer below prefix, for instance "layers.0.linear_attn".
func LoadDelta(l *Loader, cfg *pack.Config, prefix string) *Delta {
	d := &Delta{metal.DeltaNet{
		Shape: metal.DeltaShape{
			KeyHeads: cfg.KeyHeads, ValueHeads: cfg.ValueHeads, KeyDim: cfg.KeyDim, ValueDim: cfg.ValueDim,
		},
		Taps: cfg.Conv,
		Eps:  cfg.Eps,
	}}
	if cfg.GateSilu {
		d.Act = metal.Silu
	}
	h, heads, out := cfg.Hidden, cfg.ValueHeads, cfg.ValueHeads*cfg.ValueDim
	d.QKV = l.Linear(prefix+".in_proj_qkv", d.Channels(), h)
	d.Z = l.Linear(prefix+".in_proj_z", out, h)
	d.B = l.Linear(prefix+".in_proj_b", heads, h)
	d.A = l.Linear(prefix+".in_proj_a", heads, h)
	d.Out = l.Linear(prefix+".out_proj", h, out)
	d.Conv = l.Conv(prefix+".conv1d", d.Channels(), d.Taps)
	d.Norm = l.Vector(prefix+".norm", cfg.ValueDim)
	d.Bias = l.Vector(prefix+".dt_bias", heads)
	rate := l.Values(prefix+".A_log", heads)
	for i, a := range rate {
		rate[i] = float32(-math.Exp(float64(a)))
	}
	d.Rate = l.Put(rate)
	return d
}

// Channels is the width of the convolution.
func (d *Delta) Channels() int {
	return 2*d.Shape.KeyHeads*d.Shape.KeyDim + d.Shape.ValueHeads*d.Shape.ValueDim
}

// DeltaRows is what a commit needs of the rows of one layer to advance its state by fewer rows than were run.
type DeltaRows metal.DeltaNetRows

// Take makes room for r rows in a.
func (d *Delta) Take(a *Arena, r int) DeltaRows {
	c, h := d.Channels(), d.Shape.ValueHeads
	return DeltaRows{Pre: a.Floats(r, c), Post: a.Floats(r, c), Beta: a.Floats(r, h), Decay: a.Floats(r, h)}
}

// RowsOf is rows [from, from+n).
func (r DeltaRows) RowsOf(from, n int) DeltaRows {
	return DeltaRows{
		Pre: r.Pre.RowsOf(from, n), Post: r.Post.RowsOf(from, n),
		Beta: r.Beta.RowsOf(from, n), Decay: r.Decay.RowsOf(from, n),
	}
}

// CopyFrom copies the rows of s.
func (r DeltaRows) CopyFrom(st metal.Stream, s DeltaRows) {
	st.CopyRows(r.Pre, s.Pre)
	st.CopyRows(r.Post, s.Post)
	st.CopyRows(r.Beta, s.Beta)
	st.CopyRows(r.Decay, s.Decay)
}

// DeltaSpan is one sequence's rows of a pass. A draft leaves the committed state and tail alone and writes its state
// to State.Next; otherwise both are advanced in place.
type DeltaSpan struct {
	metal.Span
	Cache *state.Recurrent
	Draft bool
}

// Run sets y [R, H] to the layer's answer to u [R, H], adds it to the streams x [R, W] by the weights c [R, S], and leaves in
// rows what a commit needs. A nil st only measures a.
func (d *Delta) Run(st metal.Stream, a *Arena, x, c, y, u metal.Mat, rows DeltaRows, spans []DeltaSpan, s *Spans) {
	defer a.Release(a.Mark())
	n, heads, out := u.Rows, d.Shape.ValueHeads, d.Shape.ValueHeads*d.Shape.ValueDim
	room := metal.DeltaNetScratch{Z: a.Floats(n, out), O: a.Floats(n, out), B: a.Floats(n, heads), A: a.Floats(n, heads)}
	if st == nil {
		return
	}
	s.conv, s.delta, s.tail = s.conv[:0], s.delta[:0], s.tail[:0]
	for _, r := range spans {
		state := metal.DeltaSpan{Span: r.Span, State: r.Cache.State.Now(), Next: r.Cache.State.Now()}
		if r.Draft {
			state.Next = r.Cache.State.Next()
		} else {
			s.tail = append(s.tail, metal.TailSpan{Span: r.Span, Keep: r.N, Tail: r.Cache.Tail.Now(), Next: r.Cache.Tail.Next()})
		}
		s.delta = append(s.delta, state)
		s.conv = append(s.conv, metal.ConvSpan{Span: r.Span, Tail: r.Cache.Tail.Now()})
	}
	metal.RunDeltaNet(st, x, c, y, u, &d.DeltaNet, metal.DeltaNetRows(rows), room, s.conv, s.delta)
	if len(s.tail) > 0 {
		st.KeepTail(rows.Pre, s.tail)
	}
	for _, r := range spans {
		if !r.Draft {
			r.Cache.Tail.Swap()
		}
	}
}

// Commit advances a draft's state by the first keep of its n rows, which begin at row 0 of rows (spec 4): the whole
// window by a swap, a part of it by running the recurrence again from the old state, with the same bits.
func (d *Delta) Commit(st metal.Stream, rows DeltaRows, n, keep int, c *state.Recurrent, s *Spans) {
	if keep < n {
		none := metal.Mat{Buf: rows.Post.Buf, Cols: d.Shape.ValueHeads * d.Shape.ValueDim}
		none.Stride = none.Cols
		s.delta = append(s.delta[:0], metal.DeltaSpan{
			Span: metal.Span{N: keep}, State: c.State.Now(), Next: c.State.Next(),
		})
		st.Delta(none, rows.Post, rows.Beta, rows.Decay, d.Shape, s.delta)
	}
	s.tail = append(s.tail[:0], metal.TailSpan{
		Span: metal.Span{N: n}, Keep: keep, Tail: c.Tail.Now(), Next: c.Tail.Next(),
	})
	st.KeepTail(rows.Pre, s.tail)
	c.State.Swap()
	c.Tail.Swap()
}

// CacheShape is what the layer, on trunk layer index, keeps of a sequence.
func (d *Delta) CacheShape(index int) state.RecurrentShape {
	return state.RecurrentShape{
		Layer: index, Delta: d.Shape,
		Tail: state.TailShape{Layer: index, Rows: d.Taps - 1, Cols: d.Channels()},
	}
}

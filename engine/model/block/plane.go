package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// Plane is the part of a PLE layer that needs the streams (spec 2.7.3): the query norm, the gate and the dilated
// convolution. The keys and values come from a ple.Window.
type Plane struct {
	K     int       // index among the PLE layers
	Query metal.Vec // norm_query [W]
	Norm  metal.Vec // norm_conv [W]
	Conv  metal.Vec // [Taps, W]

	Taps, Dilation int
	Streams        int
	Eps            float32
}

// LoadPlane loads the plane below prefix, for instance "layers.1.ple"; k is its index among the PLE layers.
func LoadPlane(l *Loader, cfg *pack.Config, prefix string, k int) *Plane {
	w := cfg.Streams * cfg.Hidden
	return &Plane{
		K:     k,
		Query: l.Norm(prefix+".norm_query", w),
		Norm:  l.Norm(prefix+".norm_conv", w),
		Conv:  l.Conv(prefix+".conv1d", w, cfg.PLEConv),
		Taps:  cfg.PLEConv, Dilation: cfg.NgramSize,
		Streams: cfg.Streams, Eps: cfg.Eps,
	}
}

// TailShape is what the plane keeps of a sequence.
func (p *Plane) TailShape(layer int) state.TailShape {
	return state.TailShape{Layer: layer, Rows: (p.Taps - 1) * p.Dilation, Cols: p.Norm.N}
}

// PlaneSpan is one sequence's rows of a pass, with the window's keys [N, W] and values [N, H] for them. A draft
// leaves the tail alone, otherwise it is advanced.
type PlaneSpan struct {
	metal.Span
	Tail         *state.Tail
	Draft        bool
	Keys, Values metal.Mat
}

// Run adds the plane to the streams x [R, W]. gn [R, W] is set to the convolution's input, which a commit needs.
// see, if not nil, is shown gv and cv, whose sum is the plane. A nil st only measures a.
func (p *Plane) Run(st metal.Stream, a *Arena, x, gn metal.Mat, spans []PlaneSpan, s *Spans, see func(gv, cv metal.Mat)) {
	defer a.Release(a.Mark())
	q, gv, cv := a.Floats(x.Rows, x.Cols), a.Floats(x.Rows, x.Cols), a.Floats(x.Rows, x.Cols)
	if st == nil {
		return
	}
	s.conv, s.tail = s.conv[:0], s.tail[:0]
	st.Norm(q, x, p.Query, p.Streams, p.Eps)
	for _, r := range spans {
		st.Gate(gv.RowsOf(r.Row, r.N), r.Keys, q.RowsOf(r.Row, r.N), r.Values)
		s.conv = append(s.conv, metal.ConvSpan{Span: r.Span, Tail: r.Tail.Now()})
		if !r.Draft {
			s.tail = append(s.tail, metal.TailSpan{Span: r.Span, Keep: r.N, Tail: r.Tail.Now(), Next: r.Tail.Next()})
		}
	}
	st.Norm(gn, gv, p.Norm, p.Streams, p.Eps)
	st.Conv(cv, gn, p.Conv, p.Taps, p.Dilation, s.conv)
	if see != nil {
		see(gv, cv)
	}
	st.AddBoth(x, gv, cv)
	if len(s.tail) > 0 {
		st.KeepTail(gn, s.tail)
	}
	for _, r := range spans {
		if !r.Draft {
			r.Tail.Swap()
		}
	}
}

// Commit advances a draft's tail by the first keep of its n rows, which begin at row 0 of gn.
func (p *Plane) Commit(st metal.Stream, gn metal.Mat, n, keep int, t *state.Tail, s *Spans) {
	s.tail = append(s.tail[:0], metal.TailSpan{
		Span: metal.Span{N: n}, Keep: keep, Tail: t.Now(), Next: t.Next(),
	})
	st.KeepTail(gn, s.tail)
	t.Swap()
}

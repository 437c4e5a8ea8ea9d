package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// Attention is a gated attention layer with its QSA indexer (spec 2.5).
type Attention struct {
	Q            metal.Weight // [heads*2*dim, H], per head query then gate
	K, V         metal.Weight // [kvHeads*dim, H]
	O            metal.Weight // [H, heads*dim]
	QNorm, KNorm metal.Vec    // [dim]

	IndexQK    metal.Weight // [(indexHeads+1)*indexDim, H], query heads then the key
	IndexQNorm metal.Vec    // [indexDim]
	Indexer    *qsa.Indexer

	Shape metal.AttendShape
	Eps   float32
}

// LoadAttention loads the layer below prefix, for instance "layers.3.self_attn"; layer is its trunk index (0 for the
// MTP layer) and freq the rope table its queries, keys and index keys share.
func LoadAttention(l *Loader, cfg *pack.Config, prefix string, layer int, freq *qsa.InvFreq) *Attention {
	h, kv := cfg.Hidden, cfg.KVHeads*cfg.HeadDim
	geo := IndexGeometry(cfg)
	a := &Attention{
		Q:     l.Linear(prefix+".q_proj", cfg.Heads*2*cfg.HeadDim, h),
		K:     l.Linear(prefix+".k_proj", kv, h),
		V:     l.Linear(prefix+".v_proj", kv, h),
		O:     l.Linear(prefix+".o_proj", h, cfg.Heads*cfg.HeadDim),
		QNorm: l.Norm(prefix+".q_norm", cfg.HeadDim),
		KNorm: l.Norm(prefix+".k_norm", cfg.HeadDim),

		IndexQK:    l.Linear(prefix+".indexer.index_qk_proj", (geo.Heads+1)*geo.Dim, h),
		IndexQNorm: l.Norm(prefix+".indexer.q_layernorm", geo.Dim),

		Shape: metal.AttendShape{
			Heads: cfg.Heads, KVHeads: cfg.KVHeads, Dim: cfg.HeadDim, Ratio: geo.Ratio, Top: geo.Top(),
		},
		Eps: cfg.Eps,
	}
	norm := l.Norm(prefix+".indexer.k_layernorm", geo.Dim)
	if l.Err() == nil {
		ix, err := qsa.Bind(layer, geo, norm, freq)
		if err != nil {
			l.Fail(err)
		}
		a.Indexer = ix
	}
	return a
}

// IndexGeometry is the QSA geometry of a pack.
func IndexGeometry(cfg *pack.Config) qsa.Geometry {
	return qsa.Geometry{
		Heads: cfg.IndexHeads, Dim: cfg.IndexDim, Ratio: cfg.IndexRatio, Budget: cfg.IndexBudget, Eps: cfg.Eps,
	}
}

// CacheShape is what the layer keeps of a sequence.
func (t *Attention) CacheShape() state.AttentionShape {
	return state.AttentionShape{
		Layer: t.Indexer.Layer, Width: t.Shape.KVHeads * t.Shape.Dim, Index: t.Indexer.Geometry,
	}
}

// AttentionSpan is one sequence's rows of a pass.
type AttentionSpan struct {
	metal.Span
	Cache *state.Attention
}

// Append writes what the rows u [R, H] leave behind for later rows: keys, values and raw index keys at the spans'
// positions. It sets index [R, (indexHeads+1)*indexDim] to the index projection, whose first heads Read wants.
// angles [R, rotary] is cos | sin of each row's position. A nil st only measures a.
func (t *Attention) Append(st metal.Stream, a *Arena, index, u, angles metal.Mat, spans []AttentionSpan, s *Spans) {
	defer a.Release(a.Mark())
	width := t.Shape.KVHeads * t.Shape.Dim
	k, v := a.Floats(u.Rows, width), a.Floats(u.Rows, width)
	if st == nil {
		return
	}
	geo := t.Indexer.Geometry
	metal.Linears(st, u, append(s.to[:0], metal.LinearTo{Dst: index, W: t.IndexQK}, metal.LinearTo{Dst: k, W: t.K},
		metal.LinearTo{Dst: v, W: t.V}))
	for _, r := range spans {
		st.NormRope(r.Cache.KRows(r.Pos, r.N), k.RowsOf(r.Row, r.N), t.KNorm, t.Shape.KVHeads, t.Shape.Dim,
			t.Shape.Dim, t.Eps, angles.RowsOf(r.Row, r.N))
		st.CopyRows(r.Cache.VRows(r.Pos, r.N), v.RowsOf(r.Row, r.N))
		st.CopyRows(r.Cache.RawRows(r.Pos, r.N), index.RowsOf(r.Row, r.N).ColsOf(geo.Heads*geo.Dim, geo.Dim))
	}
}

// Sparse reports whether any row of the span sees more complete blocks than the budget, so that blocks must be scored.
func (t *Attention) Sparse(s metal.Span) bool { return !t.Indexer.Geometry.Dense(s.Pos + s.N) }

// Read sets y [R, H] to the attention of the rows u [R, H] over their sequences' caches, which hold the rows' own keys
// already (Append), and adds it to the streams x [R, W] by the weights c [R, S]. index is Append's, row for row. If some spans have a row past the budget it calls pooled with their
// indices, which sees to it that their caches' banks hold all blocks before the span, and their scratch the blocks that
// the span's rows complete; then it scores. sel is I32 [R, top], written for those spans only. A nil st only measures a.
func (t *Attention) Read(st metal.Stream, a *Arena, x, c, y, u, index, angles, sel metal.Mat, spans []AttentionSpan,
	s *Spans, pooled func(sparse []int) error) error {
	defer a.Release(a.Mark())
	r, dim, geo := u.Rows, t.Shape.Dim, t.Indexer.Geometry
	qg, q, out := a.Floats(r, t.Shape.Heads*2*dim), a.Floats(r, t.Shape.Heads*dim), a.Floats(r, t.Shape.Heads*dim)
	qi := a.Floats(r, geo.Heads*geo.Dim)
	if st == nil {
		return nil
	}
	s.sel, s.attend, s.sparse = s.sel[:0], s.attend[:0], s.sparse[:0]
	for i, r := range spans {
		s.attend = append(s.attend, metal.AttendSpan{
			Span: r.Span, K: metal.NewVec(r.Cache.K), V: metal.NewVec(r.Cache.V),
		})
		if t.Sparse(r.Span) {
			s.sparse = append(s.sparse, i)
		}
	}
	if len(s.sparse) > 0 {
		if err := pooled(s.sparse); err != nil {
			return err
		}
		for _, i := range s.sparse {
			s.sel = append(s.sel, spans[i].Cache.Bank.SelectSpan(spans[i].Span))
		}
		st.NormRope(qi, index.ColsOf(0, geo.Heads*geo.Dim), t.IndexQNorm, geo.Heads, geo.Dim, geo.Dim, t.Eps, angles)
		st.Select(sel, qi, geo.Heads, geo.Dim, geo.Ratio, t.Shape.Top, s.sel)
	}
	st.Linear(qg, u, t.Q)
	st.NormRope(q, qg, t.QNorm, t.Shape.Heads, dim, 2*dim, t.Eps, angles)
	st.Attend(out, q, qg, sel, t.Shape, s.attend)
	metal.LinearInject(st, x, c, y, out, t.O)
	return nil
}

// TakeIndex makes room for r rows of the index projection.
func (t *Attention) TakeIndex(a *Arena, r int) metal.Mat {
	geo := t.Indexer.Geometry
	return a.Floats(r, (geo.Heads+1)*geo.Dim)
}

// TakeSelection makes room for r rows of block ids.
func (t *Attention) TakeSelection(a *Arena, r int) metal.Mat { return a.Ints(r, t.Shape.Top) }

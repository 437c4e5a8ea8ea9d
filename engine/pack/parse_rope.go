package pack

// rope reads rope_parameters, or the older rope_scaling with rope_theta beside it, and the head's own theta. What is left
// out means what it means to the reference (transformers 5.17): theta 10000, the whole head rotated.
func (p *configParser) rope() {
	c, t := &p.c, p.text
	f := t.object("rope_scaling") // wins where both are given, as in the reference
	if f == nil {
		f = t.object("rope_parameters")
	}
	if f != nil {
		if sub := f.m["full_attention"]; sub != nil { // one set per layer type
			f = f.object("full_attention")
		}
	}
	if f == nil {
		f = t
	}
	if !p.ok() {
		return
	}
	r := Rope{Type: f.textOr("rope_type", f.textOr("type", "default"))}
	r.Theta = f.floatOr("rope_theta", t.floatOr("rope_theta", 10000, 1, 1e15), 1, 1e15)
	r.PartialFactor = f.floatOr("partial_rotary_factor", t.floatOr("partial_rotary_factor", 1, 0, 1), 0, 1)
	switch r.Type {
	case "default":
	case "yarn":
		p.yarn(f, &r)
	default:
		f.fail(unsupported("%s: got %q, want default or yarn", f.name("rope_type"), r.Type))
	}
	c.Rope, c.MTPRope = r, r
	if head := t.object("mtp"); head != nil {
		c.MTPRope.Theta = head.floatOr("rope_theta", r.Theta, 1, 1e15)
	}
	if !p.ok() {
		return
	}
	// The indexer rotates as many dimensions as the attention does (spec 2).
	if n := r.RotaryDim(c.HeadDim); n < 2 || n%2 != 0 || n > c.IndexDim {
		f.fail(corrupt("%s: got %g, which rotates %d of head_dim = %d dimensions, want an even number from 2 to indexer_head_dim = %d",
			f.name("partial_rotary_factor"), r.PartialFactor, n, c.HeadDim, c.IndexDim))
	}
}

func (p *configParser) yarn(f *fields, r *Rope) {
	r.OriginalMax = int(f.integerOr("original_max_position_embeddings", int64(p.c.MaxPositions), 1, maxPositions))
	r.Factor = f.floatOr("factor", max(float64(p.c.MaxPositions)/float64(max(r.OriginalMax, 1)), 1), 1, 1e6)
	r.BetaFast = f.floatOr("beta_fast", 32, 1e-3, 1e6)
	r.BetaSlow = f.floatOr("beta_slow", 1, 1e-3, 1e6)
	r.AttentionFactor = f.floatOr("attention_factor", 0, 0, 1e3)
	r.MScale = f.floatOr("mscale", 0, 0, 1e3)
	r.MScaleAllDim = f.floatOr("mscale_all_dim", 0, 0, 1e3)
	r.Truncate = f.boolOr("truncate", true)
}

package pack

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Experts returns the routed experts of a layer ("layers.3.mlp", "mtp.layers.0.mlp") as three stacks: gate and up
// [E][I, H], down [E][H, I]. It takes MLX's switch_mlp, HF's fused gate_up_proj in either orientation, and one tensor per
// expert. The bytes lie in the pack's mapping, except for transposed experts: those are turned into memory of their own,
// as large as the layer.
func (p *Pack) Experts(prefix string) (gate, up, down metal.WeightSpec, err error) {
	l := lookup{p: p}
	gate, up, down, err = l.experts(prefix)
	return gate, up, down, named(p.Name, err)
}

func (l *lookup) experts(prefix string) (gate, up, down metal.WeightSpec, err error) {
	c := &l.p.Config
	fail := func(err error) (metal.WeightSpec, metal.WeightSpec, metal.WeightSpec, error) {
		return metal.WeightSpec{}, metal.WeightSpec{}, metal.WeightSpec{}, err
	}
	sw, ex := prefix+".switch_mlp.", prefix+".experts."
	switch {
	case l.has(sw + "gate_proj.weight"):
		if gate, err = l.module(sw+"gate_proj", c.Experts, c.ExpertInner, c.Hidden); err != nil {
			return fail(err)
		}
		if up, err = l.module(sw+"up_proj", c.Experts, c.ExpertInner, c.Hidden); err != nil {
			return fail(err)
		}
		if down, err = l.module(sw+"down_proj", c.Experts, c.Hidden, c.ExpertInner); err != nil {
			return fail(err)
		}
		return gate, up, down, nil
	case l.has(ex+"gate_up_proj") || l.has(ex+"gate_up_proj.weight"):
		if gate, up, down, err = l.fused(ex); err != nil {
			return fail(err)
		}
		return gate, up, down, nil
	case l.has(ex + "0.gate_proj.weight"):
		if gate, err = l.single(ex, "gate_proj", c.ExpertInner, c.Hidden); err != nil {
			return fail(err)
		}
		if up, err = l.single(ex, "up_proj", c.ExpertInner, c.Hidden); err != nil {
			return fail(err)
		}
		if down, err = l.single(ex, "down_proj", c.Hidden, c.ExpertInner); err != nil {
			return fail(err)
		}
		return gate, up, down, nil
	}
	return fail(missing("tensor %q is in no file of the pack, nor %q nor %q: the layer has no experts",
		ex+"gate_up_proj", sw+"gate_proj.weight", ex+"0.gate_proj.weight"))
}

// single gathers one tensor per expert into a stack.
func (l *lookup) single(prefix, what string, rows, cols int) (metal.WeightSpec, error) {
	n := l.p.Config.Experts
	var stack metal.WeightSpec
	for e := range n {
		one, err := l.module(fmt.Sprintf("%s%d.%s", prefix, e, what), 0, rows, cols)
		if err != nil {
			return stack, err
		}
		if e == 0 {
			stack = one
			stack.Parts = make([]metal.Part, 0, n)
		} else if one.Format != stack.Format || one.Group != stack.Group {
			return stack, unsupported("tensor %q: got %s/%d, want %s/%d as in expert 0", one.Name, one.Format, one.Group, stack.Format, stack.Group)
		}
		stack.Parts = append(stack.Parts, one.Parts...)
	}
	if extra := fmt.Sprintf("%s%d.%s.weight", prefix, n, what); l.has(extra) {
		return stack, corrupt("tensor %q is in the pack, but config.json: num_experts is %d", extra, n)
	}
	return stack, nil
}

// orientation finds HF's gate_up_proj and down_proj and tells how they lie. transformers writes [E, 2I, H] with down
// [E, H, I], or the transposed pair [E, H, 2I] and [E, I, H] (spec 5.1). At most one of the two tensors can be square (2I = H
// and I = H exclude each other), so that the pair always tells the orientation.
func (l *lookup) orientation(prefix string) (both, dn *tensor, transposed bool, err error) {
	c := &l.p.Config
	e, i, h := c.Experts, c.ExpertInner, c.Hidden
	if both, err = l.find(prefix+"gate_up_proj", prefix+"gate_up_proj.weight"); err != nil {
		return nil, nil, false, err
	}
	if dn, err = l.find(prefix+"down_proj", prefix+"down_proj.weight"); err != nil {
		return nil, nil, false, err
	}
	plain, turned := stacked(e, 2*i, h), stacked(e, h, 2*i)
	if err := shaped(both, plain, turned); err != nil {
		return nil, nil, false, err
	}
	if err := shaped(dn, stacked(e, h, i), stacked(e, i, h)); err != nil {
		return nil, nil, false, err
	}
	transposed = shaped(both, plain) != nil || shaped(dn, stacked(e, h, i)) != nil
	if transposed && (shaped(both, turned) != nil || shaped(dn, stacked(e, i, h)) != nil) {
		return nil, nil, false, corrupt("%s and %s: one is transposed and the other is not", both.describe(), dn.describe())
	}
	return both, dn, transposed, nil
}

// fused splits HF's gate_up_proj.
func (l *lookup) fused(prefix string) (gate, up, down metal.WeightSpec, err error) {
	c := &l.p.Config
	e, i, h := c.Experts, c.ExpertInner, c.Hidden
	both, dn, transposed, err := l.orientation(prefix)
	if err != nil {
		return gate, up, down, err
	}
	format, err := both.format()
	if err != nil {
		return gate, up, down, err
	}
	downFormat, err := dn.format()
	if err != nil {
		return gate, up, down, err
	}
	gate = metal.WeightSpec{Name: both.name + "[gate]", Format: format, Rows: i, Cols: h}
	up = metal.WeightSpec{Name: both.name + "[up]", Format: format, Rows: i, Cols: h}
	down = metal.WeightSpec{Name: dn.name, Format: downFormat, Rows: h, Cols: i}
	if transposed && l.dry {
		return gate, up, down, nil
	}
	pairs, downs := split(e, both.data(), nil, nil), split(e, dn.data(), nil, nil)
	for x := range pairs {
		if transposed {
			pairs[x].Data = transpose(pairs[x].Data, h, 2*i, int(both.dtype.Size()))
			downs[x].Data = transpose(downs[x].Data, i, h, int(dn.dtype.Size()))
		}
		half := len(pairs[x].Data) / 2 // rows 0..I-1 are the gate, the rest up
		gate.Parts = append(gate.Parts, metal.Part{Data: pairs[x].Data[:half:half]})
		up.Parts = append(up.Parts, metal.Part{Data: pairs[x].Data[half:]})
	}
	down.Parts = downs
	return gate, up, down, nil
}

// transpose copies a [rows, cols] matrix of size-byte elements as [cols, rows], in tiles so that both sides stay in cache.
func transpose(src []byte, rows, cols, size int) []byte {
	const tile = 32
	dst := make([]byte, len(src))
	for r0 := 0; r0 < rows; r0 += tile {
		for c0 := 0; c0 < cols; c0 += tile {
			for r := r0; r < min(r0+tile, rows); r++ {
				for c := c0; c < min(c0+tile, cols); c++ {
					copy(dst[(c*rows+r)*size:][:size], src[(r*cols+c)*size:])
				}
			}
		}
	}
	return dst
}

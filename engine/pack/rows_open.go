package pack

import (
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// MatrixRows opens a weight [rows, cols] that [Pack.Linear] takes.
func (p *Pack) MatrixRows(name string, rows, cols int) (*Rows, error) {
	l := lookup{p: p, dry: true}
	if _, err := l.linear(name, rows, cols); err != nil {
		return nil, named(p.Name, err)
	}
	name = strings.TrimSuffix(name, ".weight")
	if name == "lm_head" && p.Config.Tied {
		name = "embed_tokens"
	}
	r, err := l.rows(name, 0, rows, cols)
	return r, named(p.Name, err)
}

// ExpertRows opens the routed experts that [Pack.Experts] takes. Of transposed ones it holds one expert at a time.
func (p *Pack) ExpertRows(prefix string) (gate, up, down *Rows, err error) {
	l := lookup{p: p, dry: true}
	if _, _, _, err := l.experts(prefix); err != nil {
		return nil, nil, nil, named(p.Name, err)
	}
	gate, up, down, err = l.expertRows(prefix)
	return gate, up, down, named(p.Name, err)
}

// TableRows opens the table of the k-th PLE layer; its parts are the shards.
func (p *Pack) TableRows(k int) (*Rows, error) {
	spec, err := p.NgramTable(k)
	if err != nil {
		return nil, err
	}
	r := &Rows{
		Name: spec.Name, Parts: len(spec.Shards), Rows: int(spec.Shards[0].Rows), Cols: spec.Dim, Format: spec.Format, Group: spec.Group,
		dtype: plainType(spec.Format), side: BF16,
	}
	for _, s := range spec.Shards {
		r.planes = append(r.planes, [3]ple.Span{s.Weight, s.Scales, s.Biases})
	}
	return r, nil
}

// plainType is the element type of a format without codes, "" for the others.
func plainType(f metal.Format) DType {
	switch f {
	case metal.FormatF32:
		return F32
	case metal.FormatF16:
		return F16
	case metal.FormatBF16:
		return BF16
	}
	return ""
}

// rows opens a module that module has checked.
func (l *lookup) rows(name string, stack, rows, cols int) (*Rows, error) {
	t, err := l.find(name+".weight", name)
	if err != nil {
		return nil, err
	}
	r := &Rows{Name: t.name, Parts: max(stack, 1), Rows: rows, Cols: cols}
	planes := [3]ple.Span{t.plane()}
	if t.dtype == U32 {
		scales, err := l.find(name + ".scales")
		if err != nil {
			return nil, err
		}
		biases, err := l.find(name + ".biases")
		if err != nil {
			return nil, err
		}
		if r.Format, _, r.Group, err = affine(t, scales, cols); err != nil {
			return nil, err
		}
		if scales.dtype != biases.dtype {
			return nil, unsupported("%s, want %s as the scales have", biases.describe(), scales.dtype)
		}
		r.side = scales.dtype
		planes[1], planes[2] = scales.plane(), biases.plane()
	} else {
		if r.Format, err = t.format(); err != nil {
			return nil, err
		}
		r.dtype = t.dtype
	}
	for i := range r.Parts {
		var part [3]ple.Span
		for j, s := range planes {
			part[j] = cutSpan(s, i, r.Parts)
		}
		r.planes = append(r.planes, part)
	}
	return r, nil
}

// cutSpan is the i-th of n equal parts.
func cutSpan(s ple.Span, i, n int) ple.Span {
	size := s.Len / int64(n)
	s.Off += int64(i) * size
	s.Len = size
	if s.Data != nil {
		s.Data = s.Data[int64(i)*size:][:size:size]
	}
	return s
}

func (l *lookup) expertRows(prefix string) (gate, up, down *Rows, err error) {
	c := &l.p.Config
	sw, ex := prefix+".switch_mlp.", prefix+".experts."
	if l.has(ex+"gate_up_proj") || l.has(ex+"gate_up_proj.weight") {
		return l.fusedRows(ex)
	}
	one := func(what string, rows, cols int) (*Rows, error) {
		if l.has(sw + what + ".weight") {
			return l.rows(sw+what, c.Experts, rows, cols)
		}
		var r *Rows
		for e := range c.Experts {
			x, err := l.rows(fmt.Sprintf("%s%d.%s", ex, e, what), 0, rows, cols)
			switch {
			case err != nil:
				return nil, err
			case r == nil:
				r = x
			case x.Format != r.Format || x.Group != r.Group || x.side != r.side:
				return nil, unsupported("tensor %q: got %s/%d, want %s/%d as in expert 0", x.Name, x.Format, x.Group, r.Format, r.Group)
			default:
				r.planes = append(r.planes, x.planes...)
			}
		}
		r.Parts = c.Experts
		return r, nil
	}
	if gate, err = one("gate_proj", c.ExpertInner, c.Hidden); err != nil {
		return nil, nil, nil, err
	}
	if up, err = one("up_proj", c.ExpertInner, c.Hidden); err != nil {
		return nil, nil, nil, err
	}
	down, err = one("down_proj", c.Hidden, c.ExpertInner)
	return gate, up, down, err
}

// fusedRows opens HF's gate_up_proj and down_proj, in either orientation.
func (l *lookup) fusedRows(prefix string) (gate, up, down *Rows, err error) {
	c := &l.p.Config
	both, dn, transposed, err := l.orientation(prefix)
	if err != nil {
		return nil, nil, nil, err
	}
	open := func(t *tensor, rows, cols, half, halves int) (*Rows, error) {
		r := &Rows{Name: t.name, Parts: c.Experts, Rows: rows, Cols: cols, dtype: t.dtype}
		var err error
		if r.Format, err = t.format(); err != nil {
			return nil, err
		}
		if transposed {
			r.turned = &turned{first: half * rows, width: halves * rows, part: -1}
		}
		for e := range c.Experts {
			s := cutSpan(t.plane(), e, c.Experts)
			if !transposed {
				s = cutSpan(s, half, halves)
			}
			r.planes = append(r.planes, [3]ple.Span{s})
		}
		return r, nil
	}
	if gate, err = open(both, c.ExpertInner, c.Hidden, 0, 2); err != nil {
		return nil, nil, nil, err
	}
	if up, err = open(both, c.ExpertInner, c.Hidden, 1, 2); err != nil {
		return nil, nil, nil, err
	}
	down, err = open(dn, c.Hidden, c.ExpertInner, 0, 1)
	return gate, up, down, err
}

package pack

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// Rows reads a weight of the model by runs of rows, whatever the container: so a pack can be worked through without ever
// holding a whole tensor. A file is read by position, and a failing or shortened one is an error that names the tensor. It
// belongs to one goroutine.
type Rows struct {
	Name   string // as written in the file
	Parts  int    // matrices of a stack, or shards of a table
	Rows   int    // of each part
	Cols   int
	Format metal.Format
	Group  int // Q8, Q4

	dtype  DType // of plain floats
	side   DType // of scales and biases
	planes [][3]ple.Span
	turned *turned // set for experts that lie transposed
	buf    []byte
}

// turned says that a part is rows first to first+Rows-1 of the transpose of a slab [Cols, width].
type turned struct {
	first, width int
	part         int    // whose slab is at hand, -1 for none
	slab         []byte // one expert
	run          []float32
}

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

// Bits is the width of a code, 0 for plain floats.
func (r *Rows) Bits() int {
	switch r.Format {
	case metal.FormatQ8:
		return 8
	case metal.FormatQ4:
		return 4
	}
	return 0
}

// Values widens whole rows to f32, dst [n * Cols], of a part from row from on. Codes become scale*q + bias, with one
// rounding (the product is exact), as every reader of a pack makes them.
func (r *Rows) Values(dst []float32, part, from int) error {
	n := len(dst) / r.Cols
	if r.turned != nil {
		return r.turn(dst, part, from)
	}
	if r.Bits() == 0 {
		raw := r.room(len(dst) * int(r.dtype.Size()))
		if err := r.read(raw, part, 0, int64(from*r.Cols)*r.dtype.Size()); err != nil {
			return err
		}
		Decode(dst, raw, r.dtype)
		return nil
	}
	codes, groups := r.Cols*r.Bits()/8, r.Cols/r.Group
	raw := r.room(n * (codes + 4*groups))
	weight, scales, biases := raw[:n*codes], raw[n*codes:][:2*n*groups], raw[n*(codes+2*groups):]
	if err := r.Codes(weight, scales, biases, part, from); err != nil {
		return err
	}
	var scale, bias [1]float32
	for g := range n * groups {
		Decode(scale[:], scales[2*g:2*g+2], BF16)
		Decode(bias[:], biases[2*g:2*g+2], BF16)
		for i := g * r.Group; i < (g+1)*r.Group; i++ {
			q := weight[i*r.Bits()/8]
			if r.Bits() == 4 {
				q = q >> (4 * (i & 1)) & 15
			}
			dst[i] = float32(scale[0]*float32(q)) + bias[0]
		}
	}
	return nil
}

// Codes copies the three planes of whole rows of a quantised weight; scales and biases that are not bf16 are rounded to
// it, as Linear does.
func (r *Rows) Codes(weight, scales, biases []byte, part, from int) error {
	if err := r.read(weight, part, 0, int64(from*r.Cols*r.Bits()/8)); err != nil {
		return err
	}
	first := from * (r.Cols / r.Group)
	for j, dst := range [][]byte{scales, biases} {
		if r.side == BF16 {
			if err := r.read(dst, part, 1+j, int64(2*first)); err != nil {
				return err
			}
			continue
		}
		wide, size := make([]float32, len(dst)/2), int(r.side.Size())
		raw := make([]byte, len(wide)*size)
		if err := r.read(raw, part, 1+j, int64(first*size)); err != nil {
			return err
		}
		Decode(wide, raw, r.side)
		for i, v := range wide {
			h := RoundBF16(v)
			dst[2*i], dst[2*i+1] = byte(h), byte(h>>8)
		}
	}
	return nil
}

// Exact says that Codes copies bytes as they are.
func (r *Rows) Exact() bool { return r.side == "" || r.side == BF16 }

// turn reads rows of a transposed expert: columns of its slab.
func (r *Rows) turn(dst []float32, part, from int) error {
	t, size := r.turned, int(r.dtype.Size())
	if t.part != part {
		if t.slab == nil {
			t.slab = make([]byte, r.Cols*t.width*size)
		}
		t.part = -1
		if err := r.read(t.slab, part, 0, 0); err != nil {
			return err
		}
		t.part = part
	}
	n := len(dst) / r.Cols
	if cap(t.run) < n {
		t.run = make([]float32, n)
	}
	run := t.run[:n]
	for c := range r.Cols {
		Decode(run, t.slab[(c*t.width+t.first+from)*size:][:n*size], r.dtype)
		for i, v := range run {
			dst[i*r.Cols+c] = v
		}
	}
	return nil
}

// room is a buffer of n bytes that the next call uses again.
func (r *Rows) room(n int) []byte {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	return r.buf[:n]
}

// read fills dst from a plane of a part.
func (r *Rows) read(dst []byte, part, plane int, off int64) error {
	s := &r.planes[part][plane]
	if off < 0 || off+int64(len(dst)) > s.Len {
		panic(fmt.Sprintf("pack: %s: part %d: read of bytes %d to %d in a plane of %d", r.Name, part, off, off+int64(len(dst)), s.Len))
	}
	if err := readSpan(s, dst, off); err != nil {
		return fmt.Errorf("tensor %q: %w", r.Name, err)
	}
	return nil
}

// readSpan fills dst with bytes that the span has from off on.
func readSpan(s *ple.Span, dst []byte, off int64) error {
	if s.Data != nil {
		copy(dst, s.Data[off:])
		return nil
	}
	n, err := s.File.ReadAt(dst, s.Off+off)
	if n == len(dst) {
		return nil // ReadAt may say EOF together with the file's last bytes
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("got %d of %d bytes at offset %d: %w (was the file changed?)", n, len(dst), s.Off+off, io.ErrUnexpectedEOF)
	}
	return err
}

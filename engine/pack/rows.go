package pack

import (
	"fmt"

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

// readSpan fills dst with bytes that the span has from off on: by position where there is a file, so that one that fails or
// ends early is an error.
func readSpan(s *ple.Span, dst []byte, off int64) error {
	if s.File == nil {
		copy(dst, s.Data[off:])
		return nil
	}
	return ple.ReadFull(s.File, dst, s.Off+off)
}

package cpu

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// buffer is host memory: one 32-bit word per element, seen as f32 or i32.
type buffer struct {
	dev   *Device
	dtype metal.DType
	mem   []byte // the same memory, as the arena gave it
	f     []float32
	i     []int32
}

func newBuffer(d *Device, t metal.DType, n int) (*buffer, bool) {
	mem := d.spare.take(4 * n)
	if mem == nil {
		var ok bool
		if mem, ok = d.buffers.take(4 * n); !ok {
			return nil, false
		}
	}
	b := &buffer{dev: d, dtype: t, mem: mem}
	if t == metal.I32 {
		b.i = intsIn(mem)
	} else {
		b.f = floatsOf(mem)
	}
	return b, true
}

func (b *buffer) DType() metal.DType { return b.dtype }

func (b *buffer) Len() int {
	if b.dtype == metal.I32 {
		return len(b.i)
	}
	return len(b.f)
}

func (b *buffer) Free() {
	if b.f == nil && b.i == nil {
		return
	}
	b.dev.used.Add(-int64(b.Len()) * 4)
	if !b.dev.spare.give(b.mem, b.dev.buffers.give) {
		b.dev.buffers.give(b.mem)
	}
	b.mem, b.f, b.i = nil, nil, nil
}

// vecOf is the memory of a vector.
func vecOf(v metal.Vec) []float32 { return v.Buf.(*buffer).f[v.Off : v.Off+v.N] }

// intsOf is the memory of an I32 vector.
func intsOf(v metal.Vec) []int32 { return v.Buf.(*buffer).i[v.Off : v.Off+v.N] }

// mat is a matrix resolved to host memory: row r is f[r*stride : r*stride+cols].
type mat struct {
	f      []float32
	rows   int
	cols   int
	stride int
}

func matOf(m metal.Mat) mat {
	if m.Rows == 0 {
		return mat{cols: m.Cols, stride: m.Stride}
	}
	f := m.Buf.(*buffer).f
	return mat{f: f[m.Off : m.Off+(m.Rows-1)*m.Stride+m.Cols], rows: m.Rows, cols: m.Cols, stride: m.Stride}
}

// part is columns col..col+cols-1 of rows row..row+rows-1, rows > 0.
func (m mat) part(row, rows, col, cols int) mat {
	at := row*m.stride + col
	return mat{f: m.f[at : at+(rows-1)*m.stride+cols], rows: rows, cols: cols, stride: m.stride}
}

func (m mat) row(r int) []float32 {
	o := r * m.stride
	return m.f[o : o+m.cols : o+m.cols]
}

// imat is mat for I32 memory.
type imat struct {
	i      []int32
	rows   int
	cols   int
	stride int
}

func imatOf(m metal.Mat) imat {
	if m.Rows == 0 {
		return imat{cols: m.Cols, stride: m.Stride}
	}
	i := m.Buf.(*buffer).i
	return imat{i: i[m.Off : m.Off+(m.Rows-1)*m.Stride+m.Cols], rows: m.Rows, cols: m.Cols, stride: m.Stride}
}

func (m imat) row(r int) []int32 {
	o := r * m.stride
	return m.i[o : o+m.cols : o+m.cols]
}

// want panics when a shape is not what an op's contract asks: a broken invariant of ours.
func want(ok bool, op, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("cpu: %s: %s", op, fmt.Sprintf(format, args...)))
	}
}

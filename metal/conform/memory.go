package conform

import (
	"math"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// mark fills the gaps of outputs: an op that writes outside its view changes it.
const mark float32 = -12345.5

// operand is a matrix on the device together with the host's copy of its first contents.
type operand struct {
	metal.Mat
	e    *env
	init []float32 // the whole buffer, gaps included; nil for I32
	n    int       // buffer length
}

// alloc makes room for rows x cols: packed, or as a view with an odd offset and stride.
func (e *env) alloc(t metal.DType, rows, cols int) *operand {
	e.tb.Helper()
	m := metal.Mat{Rows: rows, Cols: cols, Stride: cols}
	n := rows * cols
	if e.view {
		m.Off, m.Stride = 3, cols+5
		n = m.Off + rows*m.Stride + 1
	}
	b, err := e.dev.Alloc(t, n)
	if err != nil {
		e.tb.Fatal(err)
	}
	if b.Len() != n || b.DType() != t {
		e.tb.Fatalf("Alloc: got %d elements of type %d, want %d of %d", b.Len(), b.DType(), n, t)
	}
	e.owned = append(e.owned, b)
	m.Buf = b
	return &operand{Mat: m, e: e, n: n}
}

// fill makes an operand whose elements come from value and whose gaps hold gap.
func (e *env) fill(rows, cols int, gap float32, value func() float32) *operand {
	o := e.alloc(metal.F32, rows, cols)
	o.init = make([]float32, o.n)
	for i := range o.init {
		o.init[i] = gap
	}
	for r := range rows {
		for c := range cols {
			o.init[o.Off+r*o.Stride+c] = value()
		}
	}
	o.reset()
	return o
}

// in is an input matrix; a value read from its gaps poisons the result.
func (e *env) in(rows, cols int, value func() float32) *operand {
	return e.fill(rows, cols, float32(math.NaN()), value)
}

// out is a matrix to write; its first contents are NaN, so that a value never written shows.
func (e *env) out(rows, cols int) *operand {
	return e.fill(rows, cols, mark, func() float32 { return float32(math.NaN()) })
}

// inout is a matrix changed in place.
func (e *env) inout(rows, cols int, value func() float32) *operand {
	return e.fill(rows, cols, mark, value)
}

// outInts is an I32 matrix to write, zero at first.
func (e *env) outInts(rows, cols int) *operand { return e.alloc(metal.I32, rows, cols) }

// vec is an input vector.
func (e *env) vec(n int, value func() float32) *operand { return e.in(1, n, value) }

// Vec is the first row.
func (o *operand) Vec() metal.Vec { return o.Row(0) }

// reset writes the first contents back.
func (o *operand) reset() {
	if o.init == nil {
		o.e.st.Zero(metal.NewVec(o.Buf))
		return
	}
	o.e.st.Write(metal.NewVec(o.Buf), o.init)
}

// at is the first value of an element.
func (o *operand) at(r, c int) float64 { return float64(o.init[o.Off+r*o.Stride+c]) }

// host is row r of the first contents.
func (o *operand) host(r int) []float32 { return o.init[o.Off+r*o.Stride:][:o.Cols] }

// row is host in float64.
func (o *operand) row(r int) []float64 { return wide(o.host(r)) }

// read returns the elements now on the device, row by row, and checks that the gaps are as they were.
func (o *operand) read() []float32 {
	o.e.tb.Helper()
	all := make([]float32, o.n)
	if err := o.e.st.Read(all, metal.NewVec(o.Buf)); err != nil {
		o.e.tb.Fatal(err)
	}
	for i := range all {
		k := i - o.Off
		inside := k >= 0 && k < o.Rows*o.Stride && k%o.Stride < o.Cols
		if !inside && math.Float32bits(all[i]) != math.Float32bits(o.init[i]) {
			o.e.tb.Errorf("element %d of the buffer lies outside the view [%d %d] and was changed from %g to %g", i, o.Rows, o.Cols, o.init[i], all[i])
			break
		}
	}
	return pick(all, o)
}

// ints is read for I32.
func (o *operand) ints() []int32 {
	o.e.tb.Helper()
	all := make([]int32, o.n)
	if err := o.e.st.ReadInts(all, metal.NewVec(o.Buf)); err != nil {
		o.e.tb.Fatal(err)
	}
	for i, v := range all {
		k := i - o.Off
		inside := k >= 0 && k < o.Rows*o.Stride && k%o.Stride < o.Cols
		if !inside && v != 0 {
			o.e.tb.Errorf("element %d of the buffer lies outside the view [%d %d] and was changed from 0 to %d", i, o.Rows, o.Cols, v)
			break
		}
	}
	return pick(all, o)
}

func pick[T any](all []T, o *operand) []T {
	got := make([]T, 0, o.Rows*o.Cols)
	for r := range o.Rows {
		got = append(got, all[o.Off+r*o.Stride:][:o.Cols]...)
	}
	return got
}

// bits is what is on the device now, as words. All NaNs count as one: which NaN comes out is no result.
func (o *operand) bits() []uint32 {
	if o.init == nil {
		var w []uint32
		for _, v := range o.ints() {
			w = append(w, uint32(v))
		}
		return w
	}
	return words(o.read())
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// chosen makes an I32 matrix with the given ascending ids per row (all rows of one length, ids below n): there is no op that
// writes ints from the host, so they are routed.
func (e *env) chosen(ids [][]int, n int) *operand {
	k := len(ids[0])
	logits := e.in(len(ids), n, func() float32 { return -3 })
	for r, row := range ids {
		for _, id := range row {
			logits.init[logits.Off+r*logits.Stride+id] = 3
		}
	}
	logits.reset()
	o := e.outInts(len(ids), k)
	e.st.Route(o.Mat, e.out(len(ids), k).Mat, logits.Mat, false)
	got := o.ints()
	for r, row := range ids {
		for j, id := range row {
			if got[r*k+j] != int32(id) {
				e.tb.Fatalf("Route did not choose ids %v of %d in row %d: got %v", row, n, r, got[r*k:][:k])
			}
		}
	}
	return o
}

// subset is k ascending ids below n.
func (e *env) subset(k, n int) []int {
	ids := make([]int, 0, k)
	for i := range n {
		if e.rng.IntN(n-i) < k-len(ids) {
			ids = append(ids, i)
		}
	}
	return ids
}

// testMemory checks Alloc and Used.
func testMemory(t *testing.T, dev metal.Device) {
	before := dev.Used()
	b, err := dev.Alloc(metal.F32, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got := dev.Used() - before; got < 4000 {
		t.Errorf("Used after Alloc of 1000 elements: grew by %d bytes, want 4000 or more", got)
	}
	got := make([]float32, 1000)
	if err := dev.NewStream().Read(got, metal.NewVec(b)); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if math.Float32bits(v) != 0 {
			t.Fatalf("Alloc: element %d is %g, want 0", i, v)
		}
	}
	b.Free()
	if got := dev.Used(); got != before {
		t.Errorf("Used after Free: got %d, want %d", got, before)
	}
	if _, err := dev.Alloc(metal.F32, -1); err == nil {
		t.Error("Alloc of -1 elements: got no error")
	}
}

// words is the bits of x, all NaNs counting as one.
func words(x []float32) []uint32 {
	w := make([]uint32, len(x))
	for i, v := range x {
		w[i] = math.Float32bits(v)
		if v != v {
			w[i] = 0x7fc00000
		}
	}
	return w
}

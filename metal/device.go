package metal

import "errors"

// ErrMemory is returned (wrapped) when a device has no room for what was asked; nothing was allocated.
var ErrMemory = errors.New("metal: out of device memory")

// Info describes a device. Kind names everything that can change bits: device, kernel set and precision
// (for instance "cpu/f32" or "cpu/i8"); it is part of every snapshot key and is shown by /health.
type Info struct {
	Kind       string // device, kernel set, precision: equal Kind means equal bits
	Name       string // what the machine calls it
	Precision  string // "exact" or "fast": how products are done; empty if the device has no choice
	Kernels    string // the instruction set picked at start, for instance "avx512"
	Threads    int    // host threads an op may use
	MemTotal   int64  // bytes, 0 if unknown
	PromptRows bool   // the device has separate prefill kernels (two position classes)
}

// Relieved is a device that can ask for memory back before it says that it has none.
type Relieved interface {
	// OnFull sets what is called, with the bytes that are lacking, before an Alloc fails; it frees what it can and returns
	// how much that was. It may be called from any goroutine that allocates, and must not allocate itself.
	OnFull(free func(bytes int64) int64)
}

// Divisible is a device whose threads can be shared out to streams that are used at the same time.
type Divisible interface {
	// Divide returns n streams, each with threads of its own: an equal share of as many as the device has, one at least. Ops have the same bits
	// there as on any other stream of the device.
	Divide(n int) []Stream
}

// Holder is a device that lends host memory for what passes read there, an n-gram table for instance, under its own limit.
type Holder interface {
	// Hold returns zeroed memory that counts as used until release is called, once. The error wraps ErrMemory and says how
	// much there is.
	Hold(bytes int64) (b []byte, release func(), err error)
}

// Hosted is a device whose buffers are memory of this process, so that the program beside them lives under the same limit.
type Hosted interface {
	// Beside sets how many bytes of the device's limit are kept for the program. Buffers that are there already stay.
	Beside(bytes int64)
	// Limit is the most that buffers and what is kept beside them may come to, in bytes; 0: no limit is known.
	Limit() int64
}

// DType is the element type of a Buffer.
type DType uint8

// The element types of device memory. Activations, states and caches are F32; ids and selections are I32.
const (
	F32 DType = iota
	I32
)

// Buffer is device memory. It is not safe for use after Free.
type Buffer interface {
	DType() DType
	Len() int // elements
	Free()
}

// Device is a processor that can run the model.
type Device interface {
	Info() Info
	// Alloc returns n zeroed elements, or an error wrapping ErrMemory.
	Alloc(t DType, n int) (Buffer, error)
	// Load brings a weight to the device, repacked as the device likes. The spec's bytes are not kept
	// unless the device reads them in place (host memory).
	Load(spec WeightSpec) (Weight, error)
	// NewStream returns an op queue. A Stream is for one goroutine at a time; different Streams may be used at once.
	NewStream() Stream
	// Used is the number of bytes of device memory now allocated by Alloc and Load.
	Used() int64
	Close() error
}

// Vec is N consecutive elements of a buffer starting at Off.
type Vec struct {
	Buf Buffer
	Off int
	N   int
}

// Mat is Rows x Cols elements; row r starts at Off + r*Stride.
type Mat struct {
	Buf    Buffer
	Off    int
	Rows   int
	Cols   int
	Stride int
}

// NewMat views a whole buffer as rows of cols.
func NewMat(b Buffer, rows, cols int) Mat { return Mat{Buf: b, Rows: rows, Cols: cols, Stride: cols} }

// NewVec views a whole buffer.
func NewVec(b Buffer) Vec { return Vec{Buf: b, N: b.Len()} }

// RowsOf returns rows [from, from+n).
func (m Mat) RowsOf(from, n int) Mat {
	m.Off += from * m.Stride
	m.Rows = n
	return m
}

// ColsOf returns columns [from, from+n) of every row.
func (m Mat) ColsOf(from, n int) Mat {
	m.Off += from
	m.Cols = n
	return m
}

// Split views each row of groups*n columns as groups rows of n columns. The matrix must be dense (Stride == Cols).
func (m Mat) Split(groups int) Mat {
	if m.Stride != m.Cols || m.Cols%groups != 0 {
		panic("metal: Split needs a dense matrix whose columns divide")
	}
	m.Rows *= groups
	m.Cols /= groups
	m.Stride = m.Cols
	return m
}

// Row returns row r as a Vec.
func (m Mat) Row(r int) Vec { return Vec{Buf: m.Buf, Off: m.Off + r*m.Stride, N: m.Cols} }

// Mat views the vector as rows of cols.
func (v Vec) Mat(rows, cols int) Mat {
	return Mat{Buf: v.Buf, Off: v.Off, Rows: rows, Cols: cols, Stride: cols}
}

// Valid reports whether the vector has memory behind it.
func (v Vec) Valid() bool { return v.Buf != nil }

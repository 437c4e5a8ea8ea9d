package metal

// Format says how a weight's bytes are stored in the pack.
type Format uint8

// The weight formats a pack may hold. Q8 and Q4 are MLX affine: along the input axis each group of Group weights shares
// a scale and a bias, w = scale*q + bias in f32; codes are packed low bits first in little-endian u32 (spec 5.3).
const (
	FormatF32 Format = iota
	FormatF16
	FormatBF16
	FormatQ8
	FormatQ4
)

// String names the format as logs and `pack inspect` show it.
func (f Format) String() string {
	return [...]string{"f32", "f16", "bf16", "q8", "q4"}[f]
}

// Part is the bytes of one [Rows, Cols] matrix, row-major, little-endian. Scales and Biases are bf16, [Rows, Cols/Group],
// set for Q8 and Q4 only. The bytes may live in a mapped file: they are only read during Device.Load, unless the device
// documents that it reads host weights in place.
type Part struct {
	Data   []byte
	Scales []byte
	Biases []byte
}

// WeightSpec describes a linear weight as the pack stores it: y = x W^T, W [Rows, Cols] (out, in).
// A stack of experts has one Part per expert, all of the same shape and format; a plain weight has one Part.
type WeightSpec struct {
	Name   string // tensor name, for errors
	Format Format
	Rows   int // N, outputs
	Cols   int // K, inputs
	Group  int // quantisation group along Cols (Q8, Q4)
	Parts  []Part
}

// Weight is a matrix (or a stack of them) on a device.
type Weight interface {
	Name() string
	Rows() int
	Cols() int
	Stack() int // number of matrices, 1 for a plain weight
	Format() Format
	Bytes() int64 // bytes the device holds for it
	Free()
}

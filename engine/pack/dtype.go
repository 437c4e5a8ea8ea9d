package pack

import (
	"encoding/binary"
	"math"
)

// DType is a safetensors element type, spelled as in the header ("BF16"). Types this package does not know are kept as
// they are written: a tensor of such a type is an error only if the model needs it.
type DType string

// The element types the model's tensors may have.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	U32  DType = "U32"
	I32  DType = "I32"
	I64  DType = "I64"
)

// Size is the bytes of one element, 0 for an unknown type.
func (d DType) Size() int64 {
	switch d {
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0":
		return 1
	case F16, BF16, "I16", "U16":
		return 2
	case F32, U32, I32:
		return 4
	case I64, "U64", "F64", "C64":
		return 8
	}
	return 0
}

// float reports whether the type is one of the three float types a plain weight may have.
func (d DType) float() bool { return d == F32 || d == F16 || d == BF16 }

// Decode widens little-endian elements of a float type (F32, F16, BF16) to f32; src must have len(dst) elements.
func Decode(dst []float32, src []byte, d DType) {
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	case F16:
		for i := range dst {
			dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		panic("pack: Decode of " + string(d))
	}
}

// halfToFloat widens an IEEE binary16; every value is exact in f32.
func halfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 31
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac * 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// RoundBF16 rounds to the nearest bf16, ties to even. NaN stays NaN.
func RoundBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	b += 0x7fff + (b>>16)&1
	return uint16(b >> 16)
}

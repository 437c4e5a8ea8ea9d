package ple

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// Dequant turns a row's record into f32 values: dst [Dim], raw [RowBytes] (spec 5.3).
//
// Quantised rows are scale*q + bias in f32. The product of a bf16 scale (8 significant bits) and a code of at most 8 bits
// is exact in f32, so the sum's rounding is the only one and the result equals a fused multiply-add, which is the
// convention of metal's Linear.
func (t *Table) Dequant(dst []float32, raw []byte) {
	if len(dst) != t.spec.Dim || len(raw) != t.RowBytes() {
		panic(fmt.Sprintf("ple: Table.Dequant: got %d values from %d bytes, want %d from %d", len(dst), len(raw), t.spec.Dim, t.RowBytes()))
	}
	switch t.spec.Format {
	case metal.FormatF32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case metal.FormatBF16:
		for i := range dst {
			dst[i] = bf16(raw[2*i:])
		}
	case metal.FormatF16:
		for i := range dst {
			dst[i] = f16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case metal.FormatQ8:
		t.affine(dst, raw, 8)
	case metal.FormatQ4:
		t.affine(dst, raw, 4)
	}
}

// affine decodes codes of bits (4 or 8), packed low bits first in little-endian words: byte i holds code i, or codes
// 2i (low half) and 2i+1.
func (t *Table) affine(dst []float32, raw []byte, bits int) {
	codes, scales, biases := raw[:t.weight], raw[t.weight:t.weight+t.side], raw[t.weight+t.side:]
	group := t.spec.Group
	for g := 0; g*group < len(dst); g++ {
		scale, bias := bf16(scales[2*g:]), bf16(biases[2*g:])
		out := dst[g*group : (g+1)*group]
		if bits == 8 {
			for i, q := range codes[g*group : (g+1)*group] {
				out[i] = float32(scale*float32(q)) + bias
			}
			continue
		}
		for i := range out {
			at := g*group + i
			q := codes[at/2] >> (4 * (at & 1)) & 15
			out[i] = float32(scale*float32(q)) + bias
		}
	}
}

func bf16(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// f16 widens an IEEE half, exactly.
func f16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case 0: // zero and subnormals: frac * 2^-24
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(f))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

package packtest

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/flashlane/flashlane/engine/pack"
)

// random is a generator for one tensor: the same for a seed and a name, whatever was drawn before.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// exact rounds to a value that bf16, f16 and f32 all hold: a bf16, zero below the smallest normal f16.
func exact(x float64) float32 {
	if math.Abs(x) < 1.0/(1<<14) {
		return 0
	}
	return math.Float32frombits(uint32(toBF16(float32(x))) << 16)
}

func toBF16(f float32) uint16 {
	b := math.Float32bits(f)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func normals(r *rand.Rand, n int, scale float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = exact(r.NormFloat64() * scale)
	}
	return out
}

func uniforms(r *rand.Rand, n int, lo, hi float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = exact(lo + (hi-lo)*r.Float64())
	}
	return out
}

// offsets are weights of a zero-centred norm: multiples of 1/128, so that 1+w is exact in bf16 too.
func offsets(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.IntN(41)-20) / 128
	}
	return out
}

// encode writes values that are exact in the type.
func encode(vals []float32, d pack.DType) []byte {
	var out []byte
	for _, v := range vals {
		switch d {
		case pack.F32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		case pack.F16:
			out = binary.LittleEndian.AppendUint16(out, toF16(v))
		default:
			out = binary.LittleEndian.AppendUint16(out, toBF16(v))
		}
	}
	return out
}

// toF16 converts zero and values of normal f16 range whose fraction fits.
func toF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	if b<<1 == 0 {
		return sign
	}
	return sign | uint16((b>>23&255)-112)<<10 | uint16(b>>13&0x3ff)
}

// affine quantises rows of cols values: codes packed low bits first, one bf16 scale and bias per group (spec 5.3).
func affine(vals []float32, bits, group int) (codes, scales, biases []byte) {
	top := float64(int(1)<<bits - 1)
	var word uint32
	filled := 0
	for at := 0; at < len(vals); at += group {
		g := vals[at : at+group]
		lo, hi := float64(g[0]), float64(g[0])
		for _, v := range g {
			lo, hi = min(lo, float64(v)), max(hi, float64(v))
		}
		s := toBF16(float32((hi - lo) / top))
		z := toBF16(float32(lo))
		scales = binary.LittleEndian.AppendUint16(scales, s)
		biases = binary.LittleEndian.AppendUint16(biases, z)
		scale := float64(math.Float32frombits(uint32(s) << 16))
		bias := float64(math.Float32frombits(uint32(z) << 16))
		for _, v := range g {
			q := 0.0
			if scale > 0 {
				q = min(max(math.RoundToEven((float64(v)-bias)/scale), 0), top)
			}
			word |= uint32(q) << filled
			if filled += bits; filled == 32 {
				codes = binary.LittleEndian.AppendUint32(codes, word)
				word, filled = 0, 0
			}
		}
	}
	return codes, scales, biases
}

package pletest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// Table describes a random table: Rows x Dim in Format, over Shards shards, in memory, or behind File if it is set.
type Table struct {
	Rows   int64
	Dim    int
	Format metal.Format
	Group  int // Q8, Q4
	Shards int // 0: 1
	Seed   uint64
	InFile bool // planes are read through Reader, from one file
}

// Build makes the table's spec. With InFile all its planes lie in the returned reader, a hole between them; else the
// reader is nil. Values are finite and of ordinary size in every format.
func (t Table) Build() (ple.TableSpec, *Reader) {
	rng := rand.New(rand.NewPCG(t.Seed, 1))
	shards := max(t.Shards, 1)
	spec := ple.TableSpec{Name: fmt.Sprintf("random-%d", t.Seed), Rows: t.Rows, Dim: t.Dim, Format: t.Format, Group: t.Group}
	var file *Reader
	if t.InFile {
		file = &Reader{Data: []byte("header")}
	}
	place := func(data []byte) ple.Span {
		if file == nil {
			return ple.Span{Data: data, Len: int64(len(data))}
		}
		s := ple.Span{File: file, Off: int64(len(file.Data)), Len: int64(len(data))}
		file.Data = append(append(file.Data, data...), "hole"...)
		return s
	}
	for range shards {
		n := int(t.Rows) / shards
		sh := ple.Shard{Rows: int64(n)}
		switch t.Format {
		case metal.FormatQ8, metal.FormatQ4:
			bits := 8
			if t.Format == metal.FormatQ4 {
				bits = 4
			}
			sh.Weight = place(random(rng, n*t.Dim*bits/8))
			sh.Scales = place(halves(rng, n*t.Dim/t.Group, bf16))
			sh.Biases = place(halves(rng, n*t.Dim/t.Group, bf16))
		case metal.FormatBF16:
			sh.Weight = place(halves(rng, n*t.Dim, bf16))
		case metal.FormatF16:
			sh.Weight = place(halves(rng, n*t.Dim, f16))
		default:
			data := make([]byte, 0, 4*n*t.Dim)
			for range n * t.Dim {
				b := math.Float32bits(float32(rng.NormFloat64()))
				data = append(data, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
			}
			sh.Weight = place(data)
		}
		spec.Shards = append(spec.Shards, sh)
	}
	return spec, file
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func halves(rng *rand.Rand, n int, bits func(float32) uint16) []byte {
	b := make([]byte, 0, 2*n)
	for range n {
		h := bits(float32(rng.NormFloat64()))
		b = append(b, byte(h), byte(h>>8))
	}
	return b
}

func bf16(x float32) uint16 { return uint16(math.Float32bits(x) >> 16) }

// f16 cuts an ordinary value to half precision; small values become zero.
func f16(x float32) uint16 {
	b := math.Float32bits(x)
	exp := int(b>>23&255) - 112
	if exp <= 0 {
		return uint16(b >> 16 & 0x8000)
	}
	return uint16(b>>16&0x8000) | uint16(exp)<<10 | uint16(b>>13&1023)
}

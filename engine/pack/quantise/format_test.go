package quantise

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
)

// affineRef is the slow twin of Encode for one row: in words of the comment there, a code at a time, packed by arithmetic
// on whole words (spec 5.3).
func affineRef(vals []float32, bits, group int) (weight, scales, biases []byte) {
	top := float32(math.Pow(2, float64(bits)) - 1)
	perWord := 32 / bits
	var word uint32
	for at := 0; at < len(vals); at += group {
		g := make([]float32, group)
		for i, v := range vals[at : at+group] {
			g[i] = wide(pack.RoundBF16(v))
		}
		lo, hi := slices.Min(g), slices.Max(g)
		s, b := pack.RoundBF16((hi-lo)/top), pack.RoundBF16(lo)
		scales, biases = binary.LittleEndian.AppendUint16(scales, s), binary.LittleEndian.AppendUint16(biases, b)
		for i, v := range g {
			q := 0.0
			if wide(s) != 0 {
				x := (v - wide(b)) / wide(s)
				q = math.RoundToEven(float64(x))
				q = math.Min(math.Max(q, 0), float64(top))
			}
			n := (at + i) % perWord
			word |= uint32(q) << (n * bits)
			if n == perWord-1 {
				weight, word = binary.LittleEndian.AppendUint32(weight, word), 0
			}
		}
	}
	return weight, scales, biases
}

func wide(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// encode makes the planes of one row.
func encode(t testing.TB, f Format, vals []float32) (weight, scales, biases []byte) {
	t.Helper()
	a, b, c := f.RowBytes(len(vals))
	weight, scales, biases = make([]byte, a), make([]byte, b), make([]byte, c)
	if err := f.Encode(weight, scales, biases, slices.Clone(vals)); err != nil {
		t.Fatal(err)
	}
	return weight, scales, biases
}

// Encode is its twin, bit by bit, on values of every size.
func TestEncodeAgainstTwin(t *testing.T) {
	for _, f := range []Format{{4, 32}, {8, 64}, {8, 32}} {
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 3))
			vals := make([]float32, 256)
			size := math.Pow(10, float64(seed)/2-10)
			for i := range vals {
				vals[i] = float32(rng.NormFloat64() * size)
				if seed%3 == 0 {
					vals[i] = wide(pack.RoundBF16(vals[i]))
				}
			}
			w, s, b := encode(t, f, vals)
			w2, s2, b2 := affineRef(vals, f.Bits, f.Group)
			if !slices.Equal(w, w2) || !slices.Equal(s, s2) || !slices.Equal(b, b2) {
				t.Errorf("%v, seed %d: planes differ from the twin's", f, seed)
			}
		}
	}
}

// A group written out by hand.
func TestEncodeByHand(t *testing.T) {
	vals := make([]float32, 32) // 0, 0.5, 1, ... 7, then sevens: the range is 7.5 with one value at -0.5
	for i := range vals {
		vals[i] = min(float32(i)/2-0.5, 7)
	}
	w, s, b := encode(t, Format{4, 32}, vals)
	if got := wide(binary.LittleEndian.Uint16(s)); got != 0.5 {
		t.Errorf("scale: got %v, want 0.5", got)
	}
	if got := wide(binary.LittleEndian.Uint16(b)); got != -0.5 {
		t.Errorf("bias: got %v, want -0.5", got)
	}
	want := []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	if !slices.Equal(w, want) {
		t.Errorf("codes: got %x, want %x", w, want)
	}
}

func TestEncodeEdges(t *testing.T) {
	fill := func(v float32) []float32 {
		out := make([]float32, 64)
		for i := range out {
			out[i] = v
		}
		return out
	}
	at := func(vals []float32, i int, v float32) []float32 { vals[i] = v; return vals }
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name string
		vals []float32
		fail bool
	}{
		{"zeros", fill(0), false},
		{"one value", fill(-3.25), false},
		{"the smallest range", at(fill(0), 5, 0x1p-133), false},
		{"the largest value", at(fill(0), 5, 0x1.fep127), false},
		{"NaN", at(fill(1), 7, nan), true},
		{"infinity", at(fill(1), 63, inf), true},
		{"minus infinity", at(fill(1), 0, -inf), true},
		{"rounds to infinity", at(fill(1), 3, math.MaxFloat32), true},
		{"too wide", at(at(fill(1), 0, -0x1.fep127), 1, 0x1.fep127), true},
	} {
		for _, f := range []Format{{4, 32}, {8, 64}, {}} {
			a, b, d := f.RowBytes(64)
			weight, scales, biases := make([]byte, a), make([]byte, b), make([]byte, d)
			err := f.Encode(weight, scales, biases, slices.Clone(c.vals))
			fail := c.fail && (f.Quantised() || c.name != "too wide") // plain bf16 holds both
			if fail != (err != nil) || err != nil && !errors.Is(err, ErrValue) {
				t.Errorf("%s as %v: got %v, want an error: %t", c.name, f, err, fail)
			}
		}
	}
}

// Whatever the values, what is read back is within half a step of what was written, plus what the rounding of the scale
// can cost at the far end of the range: 2^-9 of it.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 64}, true)
	f.Add([]byte{255, 255, 255, 255}, false)
	f.Fuzz(func(t *testing.T, raw []byte, four bool) {
		form := Format{8, 64}
		if four {
			form = Format{4, 32}
		}
		vals := make([]float32, 64)
		for i := range vals {
			if len(raw) >= 4 {
				vals[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw))
				raw = raw[4:]
			}
		}
		a, b, c := form.RowBytes(64)
		weight, scales, biases := make([]byte, a), make([]byte, b), make([]byte, c)
		in := slices.Clone(vals)
		if err := form.Encode(weight, scales, biases, in); err != nil {
			if !errors.Is(err, ErrValue) {
				t.Fatalf("got %v, want it to wrap ErrValue", err)
			}
			return
		}
		top := float64(int(1)<<form.Bits - 1)
		for g := range 64 / form.Group {
			scale, bias := float64(wide(binary.LittleEndian.Uint16(scales[2*g:]))), float64(wide(binary.LittleEndian.Uint16(biases[2*g:])))
			group := in[g*form.Group : (g+1)*form.Group] // rounded to bf16 by Encode
			span := float64(slices.Max(group)) - float64(slices.Min(group))
			for i, v := range group {
				e := g*form.Group + i
				q := weight[e*form.Bits/8]
				if form.Bits == 4 {
					q = q >> (e % 2 * 4) & 15
				}
				if d, most := math.Abs(scale*float64(q)+bias-float64(v)), span/top/2+span/256+0x1p-133*top; d > most {
					t.Fatalf("%v: element %d: got %g, want %g within %g", form, e, scale*float64(q)+bias, v, most)
				}
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	vals := make([]float32, 1<<18)
	for i := range vals {
		vals[i] = wide(pack.RoundBF16(float32(rng.NormFloat64())))
	}
	for _, f := range []Format{{4, 32}, {8, 64}, {}} {
		b.Run("format="+f.String(), func(b *testing.B) {
			x, y, z := f.RowBytes(len(vals))
			weight, scales, biases := make([]byte, x), make([]byte, y), make([]byte, z)
			b.SetBytes(int64(4 * len(vals)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Encode(weight, scales, biases, vals); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

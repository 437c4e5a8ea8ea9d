package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// allFormats are the formats of a pack with a group for the quantised ones.
var allFormats = []metal.Format{metal.FormatF32, metal.FormatF16, metal.FormatBF16, metal.FormatQ8, metal.FormatQ4}

// randomSpec makes a weight of any format: about unit variance over sqrt(cols).
func randomSpec(rng *rand.Rand, f metal.Format, rows, cols, group, stack int) metal.WeightSpec {
	s := metal.WeightSpec{Name: "w", Format: f, Rows: rows, Cols: cols}
	le := binary.LittleEndian
	size := 1 / math.Sqrt(float64(cols))
	for range stack {
		var p metal.Part
		switch f {
		case metal.FormatF32:
			for range rows * cols {
				p.Data = le.AppendUint32(p.Data, math.Float32bits(float32(rng.NormFloat64()*size)))
			}
		case metal.FormatF16:
			for range rows * cols { // any finite half below 2: sign, exponent 0..15
				p.Data = le.AppendUint16(p.Data, uint16(rng.Uint32())&^0x4000)
			}
		case metal.FormatBF16:
			for range rows * cols {
				p.Data = le.AppendUint16(p.Data, uint16(math.Float32bits(float32(rng.NormFloat64()*size))>>16))
			}
		default:
			s.Group = group
			n := rows * cols
			if f == metal.FormatQ4 {
				n /= 2
			}
			for range n {
				p.Data = append(p.Data, byte(rng.Uint32()))
			}
			for range rows * cols / group {
				p.Scales = le.AppendUint16(p.Scales, uint16(math.Float32bits(float32(rng.Float64()*size/64))>>16))
				p.Biases = le.AppendUint16(p.Biases, uint16(math.Float32bits(float32(-rng.Float64()*size))>>16))
			}
		}
		s.Parts = append(s.Parts, p)
	}
	return s
}

// specValue is element [n, k] of part e, straight from the pack's definition (spec 5.3).
func specValue(s *metal.WeightSpec, e, n, k int) float32 {
	p, le := s.Parts[e], binary.LittleEndian
	i := n*s.Cols + k
	switch s.Format {
	case metal.FormatF32:
		return math.Float32frombits(le.Uint32(p.Data[i*4:]))
	case metal.FormatF16:
		h := le.Uint16(p.Data[i*2:])
		exp, frac := int(h>>10&31), float64(h&0x3ff)
		v := math.Ldexp(frac, -24)
		if exp > 0 {
			v = math.Ldexp(1024+frac, exp-25)
		}
		if h>>15 == 1 {
			v = -v
		}
		return float32(v)
	case metal.FormatBF16:
		return math.Float32frombits(uint32(le.Uint16(p.Data[i*2:])) << 16)
	}
	scale, bias := specAffine(s, e, n, k)
	return fmaSoft(scale, float32(specCode(s, e, n, k)), bias)
}

// specCode is the code of element [n, k] of an affine part.
func specCode(s *metal.WeightSpec, e, n, k int) uint32 {
	per := 4 // codes in a word
	if s.Format == metal.FormatQ4 {
		per = 8
	}
	i := n*s.Cols + k
	word := binary.LittleEndian.Uint32(s.Parts[e].Data[i/per*4:])
	return word >> (i % per * 32 / per) & (1<<(32/per) - 1)
}

// specAffine is its scale and bias.
func specAffine(s *metal.WeightSpec, e, n, k int) (scale, bias float32) {
	p, le := s.Parts[e], binary.LittleEndian
	g := n*(s.Cols/s.Group) + k/s.Group
	scale = math.Float32frombits(uint32(le.Uint16(p.Scales[g*2:])) << 16)
	bias = math.Float32frombits(uint32(le.Uint16(p.Biases[g*2:])) << 16)
	return scale, bias
}

// refDot is the canonical sum of plain weights.
func refDot(w, x []float32) float32 {
	var c [4]float32
	for k := range w {
		c[k%4] = fmaSoft(w[k], x[k], c[k%4])
	}
	return (c[0] + c[1]) + (c[2] + c[3])
}

// asMultiplied is the spec that products see: in precision Fast plain weights have codes, made here a value at a time.
func asMultiplied(p Precision, s metal.WeightSpec) metal.WeightSpec {
	if p == Exact || s.Group != 0 || s.Cols%32 != 0 {
		return s
	}
	c := metal.WeightSpec{Name: s.Name, Format: metal.FormatQ8, Rows: s.Rows, Cols: s.Cols, Group: 32}
	if s.Cols%64 == 0 {
		c.Group = 64
	}
	short := func(v float64) (float64, uint16) { // the nearest number of 8 bits: the candidates are the two around v
		down := math.Float32bits(float32(v)) &^ 0xffff
		near, far := float64(math.Float32frombits(down)), float64(math.Float32frombits(down+0x10000))
		if d := math.Abs(far-v) - math.Abs(near-v); d < 0 || d == 0 && down>>16%2 == 1 {
			return far, uint16(down>>16) + 1
		}
		return near, uint16(down >> 16)
	}
	le := binary.LittleEndian
	for e := range s.Parts {
		var part metal.Part
		for i := 0; i < s.Rows*s.Cols; i += c.Group {
			var g []float64
			for k := range c.Group {
				g = append(g, float64(specValue(&s, e, i/s.Cols, i%s.Cols+k)))
			}
			bias, b := short(slices.Min(g))
			scale, sc := short(float64(float32(float32(slices.Max(g)-slices.Min(g)) / 255)))
			part.Scales, part.Biases = le.AppendUint16(part.Scales, sc), le.AppendUint16(part.Biases, b)
			for _, v := range g {
				q := math.RoundToEven(float64(float32(float32(v-bias) / float32(scale))))
				part.Data = append(part.Data, byte(math.Min(math.Max(q, 0), 255)))
			}
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

// refProduct is the canonical sum of output n of part e, straight from the definition (doc.go, fixed.go, fast.go).
func refProduct(p Precision, s *metal.WeightSpec, e, n int, x []float32) float32 {
	if s.Group == 0 {
		w := make([]float32, s.Cols)
		for k := range w {
			w[k] = specValue(s, e, n, k)
		}
		return refDot(w, x)
	}
	block := s.Group // cut long groups into equal blocks of whole fours
	for d := 1; block > 256; d++ {
		if s.Group%(4*d) == 0 {
			block = s.Group / d
		}
	}
	var y float32
	for from := 0; from < s.Cols; from += block {
		top := 0.0
		for _, v := range x[from : from+block] {
			top = math.Max(top, math.Abs(float64(v)))
		}
		if p == Fast {
			y = refFast(s, e, n, x, from, block, math.Max(top, 0x1p-100), y)
			continue
		}
		center := int64(128)
		if s.Format == metal.FormatQ4 {
			center = 8
		}
		e2 := 126
		if top > 0 {
			e2 = min(22-(math.Ilogb(top)), 126)
			if float64(top) >= math.Ldexp(2-float64(0x10200)/(1<<23), 22-e2) {
				e2--
			}
			e2 = min(e2, 126)
		}
		scale, bias := specAffine(s, e, n, from)
		var t, u, sum int64
		for k := from; k < from+block; k++ {
			X := int64(math.RoundToEven(math.Ldexp(float64(x[k]), e2)))
			h := (X + 128) >> 8
			l := X - 256*h
			q := int64(specCode(s, e, n, k)) - center
			t, u, sum = t+q*h, u+q*l, sum+X
		}
		f := fmaSoft(float32(t), 256, float32(u))
		v := fmaSoft(scale, f, float32(fmaSoft(float32(center), scale, bias)*float32(sum)))
		y = fmaSoft(v, float32(math.Ldexp(1, -e2)), y)
	}
	return y
}

// refFast adds to y the block of columns from.. in precision Fast; the quotients of two float32 in float64, rounded again, are those of float32.
func refFast(s *metal.WeightSpec, e, n int, x []float32, from, block int, top float64, y float32) float32 {
	up, down := float32(127/top), float32(top/127)
	scale, bias := specAffine(s, e, n, from)
	var t, sum int64
	for k := from; k < from+block; k++ {
		d := int64(math.RoundToEven(float64(float32(x[k] * up))))
		t, sum = t+int64(specCode(s, e, n, k))*d, sum+d
	}
	return fmaSoft(fmaSoft(scale, float32(t), float32(bias*float32(sum))), down, y)
}

// testDevice opens a device that is closed with the test.
func testDevice(t testing.TB, o Options) *Device {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// eachKernels runs f for both precisions of every kernel set of this machine and for one and two threads.
func eachKernels(t *testing.T, f func(t *testing.T, s *stream)) {
	for _, ks := range kernelSets() {
		for _, p := range []Precision{Exact, Fast} {
			for _, threads := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/%s", ks.name, p, []string{"", "one", "two"}[threads]), func(t *testing.T) {
					f(t, newStream(testDevice(t, Options{Threads: threads, Kernels: ks.name, Precision: p})))
				})
			}
		}
	}
}

// precision is that of the stream's device.
func (s *stream) precision() Precision {
	if s.dev.kernels.fast {
		return Fast
	}
	return Exact
}

func (s *stream) mustLoad(t testing.TB, spec metal.WeightSpec) metal.Weight {
	t.Helper()
	w, err := s.dev.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// randomMat makes a matrix of rows x cols inside wider rows of NaN, so that a kernel that reads or writes outside shows.
func (s *stream) randomMat(t testing.TB, rng *rand.Rand, rows, cols int) metal.Mat {
	t.Helper()
	const left, right = 3, 5
	stride := left + cols + right
	b, err := s.dev.Alloc(metal.F32, rows*stride)
	if err != nil {
		t.Fatal(err)
	}
	f := b.(*buffer).f
	for i := range f {
		f[i] = float32(math.NaN())
		if c := i % stride; c >= left && c < left+cols {
			f[i] = float32(rng.NormFloat64())
		}
	}
	return metal.NewMat(b, rows, stride).ColsOf(left, cols)
}

// checkMargins fails if anything outside m's columns changed.
func checkMargins(t testing.TB, m metal.Mat) {
	t.Helper()
	for i, v := range m.Buf.(*buffer).f {
		if c := i%m.Stride - m.Off; (c < 0 || c >= m.Cols) && v == v {
			t.Fatalf("element %d of row %d (columns are 0..%d) was written: %g", c, i/m.Stride, m.Cols-1, v)
		}
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

package conform

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/flashlane/flashlane/metal"
)

// format is a weight format with its quantisation group.
type format struct {
	metal.Format
	group int
}

func (f format) String() string {
	if f.group == 0 {
		return f.Format.String()
	}
	return fmt.Sprintf("%s-g%d", f.Format, f.group)
}

// formats is every format a pack may hold.
var formats = []format{
	{metal.FormatF32, 0}, {metal.FormatF16, 0}, {metal.FormatBF16, 0},
	{metal.FormatQ8, 32}, {metal.FormatQ8, 64}, {metal.FormatQ4, 32}, {metal.FormatQ4, 64},
}

// fits says whether a matrix of cols columns can have the format.
func (f format) fits(cols int) bool { return f.group == 0 || cols%f.group == 0 }

// weight is a matrix, or a stack of them, on the device with its exact values.
type weight struct {
	metal.Weight
	values [][]float64 // per matrix of the stack, [rows*cols]
}

// row is row r of matrix k.
func (w *weight) row(k, r int) []float64 { return w.values[k][r*w.Cols():][:w.Cols()] }

// weight makes and loads a random weight with values of about 1/sqrt(cols).
func (e *env) weight(f format, stack, rows, cols int) *weight {
	e.tb.Helper()
	spec := metal.WeightSpec{Name: "conform." + f.String(), Format: f.Format, Rows: rows, Cols: cols, Group: f.group}
	w := &weight{}
	for range stack {
		part, values := e.part(f, rows, cols)
		spec.Parts = append(spec.Parts, part)
		w.values = append(w.values, values)
	}
	loaded, err := e.dev.Load(spec)
	if err != nil {
		e.tb.Fatal(err)
	}
	w.Weight = loaded
	e.owned = append(e.owned, loaded)
	if loaded.Rows() != rows || loaded.Cols() != cols || loaded.Stack() != stack || loaded.Format() != f.Format || loaded.Name() != spec.Name {
		e.tb.Fatalf("Load of %s [%d][%d %d] %s: got %s [%d][%d %d] %s", spec.Name, stack, rows, cols, f.Format, loaded.Name(), loaded.Stack(),
			loaded.Rows(), loaded.Cols(), loaded.Format())
	}
	return w
}

// part encodes one random matrix and returns its exact values (w = scale*q + bias in f32 for Q8 and Q4, spec 5.3).
func (e *env) part(f format, rows, cols int) (metal.Part, []float64) {
	sigma := 1 / math.Sqrt(float64(cols))
	values := make([]float64, 0, rows*cols)
	var p metal.Part
	if f.group == 0 {
		for range rows * cols {
			x := float32(sigma * e.rng.NormFloat64())
			switch f.Format {
			case metal.FormatF32:
				p.Data = binary.LittleEndian.AppendUint32(p.Data, math.Float32bits(x))
			case metal.FormatBF16:
				h := uint16(math.Float32bits(x) >> 16)
				p.Data = binary.LittleEndian.AppendUint16(p.Data, h)
				x = math.Float32frombits(uint32(h) << 16)
			case metal.FormatF16:
				var h uint16
				h, x = e.half(sigma)
				p.Data = binary.LittleEndian.AppendUint16(p.Data, h)
			}
			values = append(values, float64(x))
		}
		return p, values
	}
	bits := map[metal.Format]int{metal.FormatQ8: 8, metal.FormatQ4: 4}[f.Format]
	top := 1<<bits - 1
	for range rows * cols / f.group {
		scale, sb := bf16((0.5 + e.rng.Float64()) * 4 * sigma / float64(top))
		bias, bb := bf16(-float64(scale) * float64(top) * (0.4 + float64(0.2*e.rng.Float64())))
		p.Scales = binary.LittleEndian.AppendUint16(p.Scales, sb)
		p.Biases = binary.LittleEndian.AppendUint16(p.Biases, bb)
		var word uint32
		for i := range f.group {
			q := e.rng.IntN(top + 1)
			values = append(values, float64(scale)*float64(q)+float64(bias))
			word |= uint32(q) << (i * bits % 32)
			if (i+1)*bits%32 == 0 {
				p.Data = binary.LittleEndian.AppendUint32(p.Data, word)
				word = 0
			}
		}
	}
	return p, values
}

// bf16 cuts x to bf16.
func bf16(x float64) (float32, uint16) {
	h := uint16(math.Float32bits(float32(x)) >> 16)
	return math.Float32frombits(uint32(h) << 16), h
}

// half is a random f16 of about sigma, one in 16 of them subnormal or zero, put together from its fields.
func (e *env) half(sigma float64) (uint16, float32) {
	sign, mant := uint16(e.rng.IntN(2)), uint16(e.rng.IntN(1024))
	exp := uint16(max(1, min(30, 15+int(math.Floor(math.Log2(sigma)))-e.rng.IntN(3))))
	if e.rng.IntN(16) == 0 {
		exp = 0
	}
	v := math.Ldexp(float64(mant), -24)
	if exp > 0 {
		v = math.Ldexp(1+float64(mant)/1024, int(exp)-15)
	}
	if sign == 1 {
		v = -v
	}
	return sign<<15 | exp<<10 | mant, float32(v)
}

// dotRef is <a, b>.
func dotRef(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

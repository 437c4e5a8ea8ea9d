package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// TestFastError holds precision Fast to its bound: an activation is off by half a step at most, m/254 in a block whose largest is m, so
// a product by no more than the sum of that times |w|. In the mean, errors cancel: the second bound is on the root of their squares.
func TestFastError(t *testing.T) {
	s := newStream(testDevice(t, Options{Threads: 1, Precision: Fast}))
	for _, c := range []struct {
		name string
		most float64 // error of the outputs over their size, root mean square
		x    func(rng *rand.Rand) float64
	}{
		{"normal", 0.008, func(rng *rand.Rand) float64 { return rng.NormFloat64() }},
		{"positive", 0.008, func(rng *rand.Rand) float64 { return math.Abs(rng.NormFloat64()) }},
		{"silu", 0.012, func(rng *rand.Rand) float64 { v := 3 * rng.NormFloat64(); return v / (1 + math.Exp(-v)) }},
		{"heavy tails", 0.015, func(rng *rand.Rand) float64 { return rng.NormFloat64() * math.Exp(rng.NormFloat64()) }},
		{"tiny", 1, func(rng *rand.Rand) float64 { return rng.NormFloat64() * 0x1p-120 }},
	} {
		for _, f := range []metal.Format{metal.FormatQ8, metal.FormatQ4, metal.FormatBF16} {
			const n, rows, k, group = 64, 32, 256, 64
			rng := rand.New(rand.NewPCG(17, uint64(f)))
			spec := randomSpec(rng, f, n, k, group, 1)
			w, x, y := s.mustLoad(t, spec), s.randomMat(t, rng, rows, k), s.randomMat(t, rng, rows, n)
			spec = asMultiplied(Fast, spec)
			for r := range rows {
				for i := range matOf(x).row(r) {
					matOf(x).row(r)[i] = float32(c.x(rng))
				}
			}
			s.Linear(y, x, w)
			var off, size float64
			for r := range rows {
				row := matOf(x).row(r)
				for o := range n {
					exact, bound := 0.0, 0.0
					for from := 0; from < k; from += group {
						top, sum := 0x1p-100, 0.0
						for i, v := range row[from : from+group] {
							scale, bias := specAffine(&spec, 0, o, from)
							weight := float64(scale)*float64(specCode(&spec, 0, o, from+i)) + float64(bias)
							exact += float64(v) * weight
							top, sum = math.Max(top, math.Abs(float64(v))), sum+math.Abs(weight)
						}
						bound += top / 254 * sum
					}
					d := math.Abs(float64(matOf(y).row(r)[o]) - exact)
					if off, size = off+d*d, size+exact*exact; d > bound*1.001 {
						t.Fatalf("%s, %s: y[%d][%d] is off by %g, want %g at most", c.name, f, r, o, d, bound)
					}
				}
			}
			if got := math.Sqrt(off / size); !(got <= c.most) || got == 0 {
				t.Errorf("%s, %s: got an error of %.4f of the outputs, want some and %g at most", c.name, f, got, c.most)
			}
			w.Free()
		}
	}
}

// TestPrepareFastBits compares assembly with the portable form, also for values at the edges of the format.
func TestPrepareFastBits(t *testing.T) {
	edges := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 126.5, 127, -127, 0.5, math.MaxFloat32, -math.MaxFloat32, 1e-38, 1e-45,
		-1e-40, 0x1p-100, 0x1.8p-101,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	rng := rand.New(rand.NewPCG(6, 2))
	for _, ks := range kernelSets() {
		ks.makeFast()
		for _, group := range []int{4, 12, 16, 32, 64, 96, 256} {
			for trial := range 200 {
				k := group * (1 + trial%5)
				x := make([]float32, k)
				for i := range x {
					x[i] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()*8))
					if top := len(edges) - 3*(trial%2); rng.IntN(40) == 0 {
						x[i] = edges[rng.IntN(top)]
					}
				}
				got, want := heapBytes(fastBytes(k, group)), heapBytes(fastBytes(k, group))
				ks.prepare(unsafe.Pointer(&got[0]), x, group, 128)
				prepareFast(unsafe.Pointer(&want[0]), x, group, 128)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s, group %d, x %v: got %x, want %x", ks.name, group, x, got, want)
				}
			}
		}
	}
}

// TestFastWeights checks that precision Fast makes codes of plain weights whose rows are whole groups, and of no others, and that a
// value that is not finite stays one.
func TestFastWeights(t *testing.T) {
	d := testDevice(t, Options{Threads: 1, Precision: Fast})
	s := newStream(d)
	rng := rand.New(rand.NewPCG(1, 3))
	for _, c := range []struct{ cols, group int }{{64, 64}, {128, 64}, {96, 32}, {32, 32}, {48, 0}, {7, 0}} {
		for _, f := range []metal.Format{metal.FormatF32, metal.FormatF16, metal.FormatBF16} {
			w := s.mustLoad(t, randomSpec(rng, f, 20, c.cols, 0, 2)).(*weight)
			if w.group != c.group || w.Format() != f {
				t.Errorf("%s [20 %d]: got groups of %d and format %s, want %d and %s", f, c.cols, w.group, w.Format(), c.group, f)
			}
			w.Free()
		}
	}
	spec := randomSpec(rng, metal.FormatBF16, 3, 64, 0, 1)
	copy(spec.Parts[0].Data[(64+40)*2:], []byte{0x80, 0x7f}) // an infinity in row 1
	w, x, y := s.mustLoad(t, spec), s.randomMat(t, rng, 1, 64), s.randomMat(t, rng, 1, 3)
	s.Linear(y, x, w)
	for n, v := range matOf(y).row(0) {
		if (v != v) != (n == 1) {
			t.Errorf("output %d: got %g, want NaN in the row with an infinity alone", n, v)
		}
	}
}

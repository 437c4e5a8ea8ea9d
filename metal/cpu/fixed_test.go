package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/flashlane/flashlane/metal"
)

// TestFixedError holds fixed point to its promise: on rows of every kind its error against f64 is that of f32 sums. It is
// 0.5 to 2.3 times the error of the f32 chains of plain weights, most where a block has one large value and a row few blocks.
func TestFixedError(t *testing.T) {
	s := newStream(testDevice(t, Options{Threads: 1}))
	for _, c := range []struct {
		name string
		x    func(rng *rand.Rand) float64
	}{
		{"normal", func(rng *rand.Rand) float64 { return rng.NormFloat64() }},
		{"positive", func(rng *rand.Rand) float64 { return math.Abs(rng.NormFloat64()) }},
		{"silu", func(rng *rand.Rand) float64 { v := 3 * rng.NormFloat64(); return v / (1 + math.Exp(-v)) }},
		{"heavy tails", func(rng *rand.Rand) float64 { return rng.NormFloat64() * math.Exp(rng.NormFloat64()) }},
	} {
		for _, f := range []metal.Format{metal.FormatQ8, metal.FormatQ4} {
			for _, k := range []int{128, 256, 1024} {
				const n, rows = 64, 64
				rng := rand.New(rand.NewPCG(uint64(k), uint64(f)))
				spec := randomSpec(rng, f, n, k, 64, 1)
				w, x, y := s.mustLoad(t, spec), s.randomMat(t, rng, rows, k), s.randomMat(t, rng, rows, n)
				for r := range rows {
					for i := range matOf(x).row(r) {
						matOf(x).row(r)[i] = float32(c.x(rng))
					}
				}
				s.Linear(y, x, w)
				var fixed, chain float64 // squares of errors
				for r := range rows {
					row := matOf(x).row(r)
					for o := range n {
						exact, plain := 0.0, make([]float32, k)
						for i, v := range row {
							scale, bias := specAffine(&spec, 0, o, i)
							exact += float64(v) * (float64(scale)*float64(specCode(&spec, 0, o, i)) + float64(bias))
							plain[i] = specValue(&spec, 0, o, i)
						}
						fixed += math.Pow(float64(matOf(y).row(r)[o])-exact, 2)
						chain += math.Pow(float64(refDot(plain, row))-exact, 2)
					}
				}
				ratio := math.Sqrt(fixed / chain)
				t.Logf("%s, %s, K %d: error %.2g, %.2f of the f32 chain's", c.name, f, k, math.Sqrt(fixed/n/rows), ratio)
				if !(ratio < 3) {
					t.Errorf("%s, %s, K %d: got %.2f times the error of the f32 chain, want less than 3", c.name, f, k, ratio)
				}
				w.Free()
			}
		}
	}
}

// TestPrepareBits compares assembly with the portable form, also for values at the edges of the format.
func TestPrepareBits(t *testing.T) {
	edges := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 1.9921, 1.9922, -1.99218, 2, math.MaxFloat32, -math.MaxFloat32, 1e-38, 1e-45, -1e-40, 3e-32,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	rng := rand.New(rand.NewPCG(6, 1))
	for _, ks := range kernelSets() {
		plain := prepareWords
		if ks.name == "avx512" && ks.rows[layQ8] == maxRows || ks.name == "dotprod" {
			plain = prepareBytes
		}
		for _, group := range []int{4, 12, 16, 32, 64, 96, 256} {
			for trial := range 200 {
				k := group * (1 + trial%10)
				x := make([]float32, k)
				for i := range x {
					x[i] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()*8))
					if top := len(edges) - 3*(trial%2); rng.IntN(40) == 0 {
						x[i] = edges[rng.IntN(top)]
					}
				}
				got, want := heapBytes(fixedBytes(k, group)), heapBytes(fixedBytes(k, group))
				ks.prepare(unsafe.Pointer(&got[0]), x, group, 128)
				plain(unsafe.Pointer(&want[0]), x, group, 128)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s, group %d, x %v: got %x, want %x", ks.name, group, x, got, want)
				}
			}
		}
	}
}

// TestFixedNotFinite checks that a NaN or an infinity anywhere in a row makes all its outputs NaN, and no other row's.
func TestFixedNotFinite(t *testing.T) {
	eachKernels(t, func(t *testing.T, s *stream) {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			rng := rand.New(rand.NewPCG(5, 5))
			w := s.mustLoad(t, randomSpec(rng, metal.FormatQ8, 40, 96, 32, 1))
			x, y := s.randomMat(t, rng, 3, 96), s.randomMat(t, rng, 3, 40)
			matOf(x).row(1)[70] = bad
			s.Linear(y, x, w)
			for r := range 3 {
				for n, v := range matOf(y).row(r) {
					if (v != v) != (r == 1) {
						t.Fatalf("%g in row 1: y[%d][%d]: got %g", bad, r, n, v)
					}
				}
			}
		}
	})
}

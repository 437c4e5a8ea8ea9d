package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestSweepBits compares the sweeps of every kernel set with their definition, also at the edges of the exponential.
func TestSweepBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	edges := []float32{0, float32(math.Copysign(0, -1)), expMax, -expMax, expMin, -expMin, 88.8, -88.8, 87.4, -87.4, 1e-40, 3e38, -3e38,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.Nextafter32(expMax, 100), math.Nextafter32(expMin, -100)}
	for _, ks := range kernelSets() {
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 100, 4099} {
			g, u, y := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range n {
				g[i], u[i], y[i] = float32(rng.NormFloat64()*30), float32(rng.NormFloat64()), float32(rng.NormFloat64())
				if rng.IntN(3) == 0 {
					g[i] = edges[rng.IntN(len(edges))]
				}
				if rng.IntN(50) == 0 {
					g[i] = math.Float32frombits(rng.Uint32())
				}
			}
			sigma := func(x float32) float32 { return 1 / (1 + expf32(-x)) }
			for _, c := range []struct {
				name string
				run  func(dst []float32)
				want func(i int) float32
			}{
				{"siluMul", func(dst []float32) { ks.siluMul(dst, g, u) }, func(i int) float32 { return float32(g[i]/(1+expf32(-g[i]))) * u[i] }},
				{"sigmoidMul", func(dst []float32) { ks.sigmoidMul(dst, g, u) }, func(i int) float32 { return sigma(g[i]) * u[i] }},
				{"addGated", func(dst []float32) { copy(dst, y); ks.addGated(dst, g, u) }, func(i int) float32 { return y[i] + float32(sigma(g[i])*u[i]) }},
				{"siluScale", func(dst []float32) { copy(dst, g); ks.siluScale(dst, 0.3) }, func(i int) float32 {
					x := float32(g[i] * 0.3)
					return x / (1 + expf32(-x))
				}},
				{"expShift", func(dst []float32) { copy(dst, g); ks.expShift(dst, 0.7) }, func(i int) float32 { return expf32(g[i] - 0.7) }},
				{"addScaled", func(dst []float32) { copy(dst, y); ks.addScaled(dst, g, 1.7) }, func(i int) float32 { return y[i] + float32(g[i]*1.7) }},
				{"in place", func(dst []float32) { copy(dst, g); ks.siluMul(dst, dst, u) }, func(i int) float32 { return float32(g[i]/(1+expf32(-g[i]))) * u[i] }},
			} {
				dst := make([]float32, n+1)
				dst[n] = 5
				c.run(dst[:n])
				for i := range n {
					got, want := dst[i], c.want(i)
					if !sameBits(got, want) && (got == got || want == want) {
						t.Fatalf("%s %s of %d: element %d (g %x): got %x, want %x", ks.name, c.name, n, i, g[i], got, want)
					}
				}
				if dst[n] != 5 {
					t.Fatalf("%s %s of %d wrote past the end", ks.name, c.name, n)
				}
			}
		}
	}
}

func BenchmarkSweep(b *testing.B) {
	for _, ks := range kernelSets() {
		x, y := make([]float32, 1024), make([]float32, 1024)
		for i := range x {
			x[i] = float32(i%17) - 8
		}
		for name, f := range map[string]func(){
			"siluMul":   func() { ks.siluMul(y, x, x) },
			"addGated":  func() { ks.addGated(y, x, x) },
			"addScaled": func() { ks.addScaled(y, x, 1e-9) },
		} {
			b.Run(fmt.Sprintf("op=%s/n=1024/kernels=%s", name, ks.name), func(b *testing.B) {
				b.SetBytes(4096)
				for b.Loop() {
					f()
				}
			})
		}
	}
}

// TestMixStreamsBits compares MixStreams of every kernel set with its definition, for four streams, which have assembly of their own, and
// others, with gates at the edges of the exponential.
func TestMixStreamsBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 8))
	for _, ks := range kernelSets() {
		for _, streams := range []int{1, 3, 4, 5} {
			for _, n := range []int{1, 15, 16, 33, 128} {
				for _, special := range []bool{false, true} {
					mStep, zStep := n+rng.IntN(5), n+rng.IntN(5)
					m, z, u := values(rng, streams*mStep, special), values(rng, streams*zStep, special), make([]float32, n+1)
					u[n] = 5
					want := make([]float32, n+1)
					want[n] = 5
					for i := range n {
						for s := range streams {
							want[i] += float32(1 / (1 + expf32(-m[s*mStep+i])) * z[s*zStep+i])
							if s == 0 {
								want[i] = float32(1 / (1 + expf32(-m[i])) * z[i])
							}
						}
						want[i] *= 1 / float32(streams)
					}
					mixStreams(ks, u[:n], m, z, mStep, zStep, streams)
					equalBits(t, fmt.Sprintf("%s, %d streams of %d, special %v", ks.name, streams, n, special), u, want)
				}
			}
		}
	}
}

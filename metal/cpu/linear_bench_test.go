package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// BenchmarkLinear prints bytes of weights per second and GFLOP/s. On one core the ceiling is the FMA rate for plain
// weights, and a third of the rate of 8-bit products for affine ones.
func BenchmarkLinear(b *testing.B) {
	for _, sh := range []struct{ n, k int }{{256, 1024}, {1024, 256}, {8192, 256}} {
		for _, f := range []metal.Format{metal.FormatQ8, metal.FormatQ4, metal.FormatBF16, metal.FormatF32} {
			for _, m := range []int{1, 2, 3, 4, 6, 8, 16, 128} {
				for _, ks := range kernelSets() {
					for _, o := range []Options{{Threads: 1}, {Threads: 2}, {Threads: 1, Precision: Fast}, {Threads: 2, Precision: Fast}} {
						if o.Kernels = ks.name; o.Precision == Fast && f != metal.FormatQ8 && f != metal.FormatQ4 {
							continue
						}
						name := fmt.Sprintf("n=%d/k=%d/format=%s/rows=%d/kernels=%s/threads=%d/%s", sh.n, sh.k, f, m, ks.name, o.Threads, o.Precision)
						b.Run(name, func(b *testing.B) {
							s := newStream(testDevice(b, o))
							rng := rand.New(rand.NewPCG(1, 2))
							w := s.mustLoad(b, randomSpec(rng, f, sh.n, sh.k, 32, 1))
							x, y := s.randomMat(b, rng, m, sh.k), s.randomMat(b, rng, m, sh.n)
							b.SetBytes(w.Bytes())
							for b.Loop() {
								s.Linear(y, x, w)
							}
							sec := b.Elapsed().Seconds() / float64(b.N)
							b.ReportMetric(2*float64(m*sh.n*sh.k)/sec/1e9, "GFLOP/s")
							b.ReportMetric(float64(sh.n*sh.k)/sec/1e9, "Gweights/s")
						})
					}
				}
			}
		}
	}
}

// BenchmarkExperts is one expert layer of the nano geometry.
func BenchmarkExperts(b *testing.B) {
	for _, m := range []int{1, 2, 4, 64} {
		for _, ks := range kernelSets() {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("hidden=256/inner=96/experts=16/top=4/format=q8/rows=%d/kernels=%s/threads=%d", m, ks.name, threads), func(b *testing.B) {
					s := newStream(testDevice(b, Options{Threads: threads, Kernels: ks.name}))
					rng := rand.New(rand.NewPCG(1, 2))
					gate := s.mustLoad(b, randomSpec(rng, metal.FormatQ8, 96, 256, 32, 16))
					up := s.mustLoad(b, randomSpec(rng, metal.FormatQ8, 96, 256, 32, 16))
					down := s.mustLoad(b, randomSpec(rng, metal.FormatQ8, 256, 96, 32, 16))
					x, y := s.randomMat(b, rng, m, 256), s.randomMat(b, rng, m, 256)
					ids, w := s.pickExperts(b, rng, m, 16, 4)
					for b.Loop() {
						s.Experts(y, x, ids, w, gate, up, down)
					}
					sec := b.Elapsed().Seconds() / float64(b.N)
					b.ReportMetric(float64(m*4*3*96*256)/sec/1e9, "Gmac/s")
				})
			}
		}
	}
}

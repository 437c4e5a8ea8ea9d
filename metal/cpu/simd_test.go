package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// simdLevels lists the assembly this machine can run.
func simdLevels() []simd {
	var all []simd
	for _, set := range kernelSets() {
		if v := set.simd(); v != simdNone {
			all = append(all, v)
		}
	}
	return all
}

// values returns n values of all sizes; with special, also zeros of both signs, subnormals, infinities and NaN.
func values(rng *rand.Rand, n int, special bool) []float32 {
	odd := []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-45, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(7)-3)))
		if special && rng.IntN(5) == 0 {
			x[i] = odd[rng.IntN(len(odd))]
		}
	}
	return x
}

// equalBits compares results; any NaN equals any other.
func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Errorf("%s: element %d of %d: got %08x (%g), want %08x (%g)", what, i, len(want), math.Float32bits(got[i]), got[i],
				math.Float32bits(want[i]), want[i])
			return
		}
	}
}

// TestSimd holds every assembly loop to the bits of the Go loop, at all lengths around a register and any alignment.
func TestSimd(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, v := range simdLevels() {
		for n := range 70 {
			for _, special := range []bool{false, true} {
				at := rng.IntN(5)
				a, b, c := values(rng, n+at, special)[at:], values(rng, n+at, special)[at:], values(rng, n+at, special)[at:]
				what := func(f string) string { return fmt.Sprintf("level %d, n %d, special %v: %s", v, n, special, f) }
				one := func(f string, run func(k simd) float32) {
					t.Helper()
					equalBits(t, what(f), []float32{run(v)}, []float32{run(simdNone)})
				}
				many := func(f string, run func(k simd, y []float32)) {
					t.Helper()
					got, want := append([]float32{}, c...), append([]float32{}, c...)
					run(v, got)
					run(simdNone, want)
					equalBits(t, what(f), got, want)
				}
				one("laneSquares", func(k simd) float32 { return laneSquares(k, a) })
				one("laneDot", func(k simd) float32 { return laneDot(k, a, b) })
				one("laneDotFused", func(k simd) float32 { return laneDotFused(k, a, b) })
				one("largest", func(k simd) float32 { return largest(k, a) + 0 })
				many("scaleBy", func(k simd, y []float32) { scaleBy(k, y, a, b, 0.3) })
				many("rmsNorm", func(k simd, y []float32) { rmsNorm(k, y, a, b, 1e-6) })
				beta := make([]float32, n)
				many("decayHeads", func(k simd, y []float32) { decayHeads(k, beta, y, b, a, c, a) })
				many("decayHeads: beta", func(k simd, y []float32) { decayHeads(k, y, beta, a, b, c, b) })
				many("convTap first", func(k simd, y []float32) { convTap(k, y, a, b, true) })
				many("addPositive", func(k simd, y []float32) {
					for i := range y {
						y[i] += 0 // sums start from +0
					}
					addPositive(k, y, a)
				})
				many("convTap", func(k simd, y []float32) { convTap(k, y, a, b, false) })
			}
		}
	}
}

// TestSimdAttend does the same for the walks over keys and values, with runs of all lengths.
func TestSimdAttend(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, v := range simdLevels() {
		for _, dim := range []int{1, 16, 19, 32, 48, 64, 80, 112, 256} {
			for _, runs := range [][]run{{{0, 1}}, {{3, 4}}, {{0, 7}, {9, 1}, {11, 2}}, {{1, 16}, {20, 3}}, {{0, maxRun}, {maxRun, maxRun}, {2 * maxRun, 5}}} {
				for _, special := range []bool{false, true} {
					total := 0
					for _, r := range runs {
						total += r.n
					}
					last := runs[len(runs)-1]
					stride := dim + rng.IntN(9)
					q, x := values(rng, dim, special), values(rng, (last.from+last.n)*stride, special && total < 100)
					got, want := make([]float32, total), make([]float32, total)
					attendScores(v, got, q, x, runs, stride, 0.37)
					attendScores(simdNone, want, q, x, runs, stride, 0.37)
					what := fmt.Sprintf("level %d, dim %d, runs %v, special %v", v, dim, runs, special)
					equalBits(t, what+": scores", got, want)
					p := values(rng, total, special)
					acc, ref := make([]float32, dim), make([]float32, dim)
					attendValues(v, acc, p, x, runs, stride)
					attendValues(simdNone, ref, p, x, runs, stride)
					equalBits(t, what+": values", acc, ref)
				}
			}
		}
	}
}

// TestSimdDelta does the same for the delta rule, with and without output, in place and not.
func TestSimdDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, v := range simdLevels() {
		for _, keys := range []int{1, 5, 32} {
			for _, cols := range []int{1, 15, 16, 17, 32, 48, 63, 64, 65, 80, 112, 128, 200} {
				for _, out := range []bool{true, false} {
					from, k, q, x := values(rng, keys*cols, false), values(rng, keys, false), values(rng, keys, false), values(rng, cols, false)
					run := func(w simd, inplace bool) (state, o []float32) {
						state = make([]float32, keys*cols)
						src := from
						if inplace {
							copy(state, from)
							src = state
						}
						if out {
							o = make([]float32, cols)
						}
						deltaStep(w, state, src, k, q, x, o, make([]float32, cols), 0.9, 0.4)
						return state, o
					}
					state, o := run(simdNone, false)
					for _, inplace := range []bool{false, true} {
						gotState, gotO := run(v, inplace)
						what := fmt.Sprintf("level %d, [%d %d], output %v, in place %v", v, keys, cols, out, inplace)
						equalBits(t, what+": state", gotState, state)
						equalBits(t, what+": output", gotO, o)
					}
				}
			}
		}
	}
}

// TestSimdDeltaRows does the same for several rows at once.
func TestSimdDeltaRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for _, w := range simdLevels() {
		for _, keys := range []int{1, 5, 32} {
			for _, cols := range []int{16, 32, 64, 96} {
				for _, rows := range []int{1, 2, 7} {
					full := func(cols int) mat {
						return mat{f: values(rng, rows*(cols+3), false), rows: rows, cols: cols + 3, stride: cols + 3}
					}
					v, beta, decay := full(cols).part(0, rows, 2, cols), full(1).part(0, rows, 1, 1), full(1).part(0, rows, 1, 1)
					from, norm := values(rng, keys*cols, false), values(rng, 2*keys*rows, false)
					run := func(w simd, inplace bool) (state []float32, out mat) {
						state, out = make([]float32, keys*cols), mat{f: make([]float32, rows*(cols+5)), rows: rows, cols: cols, stride: cols + 5}
						src := from
						if inplace {
							copy(state, from)
							src = state
						}
						deltaRows(w, state, src, norm, v, out, beta, decay, make([]float32, cols))
						return state, out
					}
					state, out := run(simdNone, false)
					for _, inplace := range []bool{false, true} {
						gotState, gotOut := run(w, inplace)
						what := fmt.Sprintf("level %d, %d rows, [%d %d], in place %v", w, rows, keys, cols, inplace)
						equalBits(t, what+": state", gotState, state)
						equalBits(t, what+": output", gotOut.f, out.f)
					}
				}
			}
		}
	}
}

// TestSimdRoute does the same for routers, with ties, infinities and NaN.
func TestSimdRoute(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	for _, ks := range kernelSets() {
		for _, experts := range []int{7, 16, 32} {
			for _, k := range []int{1, 4, 7} {
				const rows = 200
				logits := mat{f: values(rng, rows*experts, false), rows: rows, cols: experts, stride: experts}
				for r := range rows {
					x := logits.row(r)
					for e := range x {
						x[e] = float32(math.Mod(float64(x[e]), 50))
						if r%2 == 0 {
							x[e] = float32(rng.IntN(4)) // ties
						}
						if r%7 == 0 && rng.IntN(20) == 0 {
							x[e] = values(rng, 1, true)[0]
						}
					}
				}
				run := func(ks *kernelSet) (ids imat, w mat) {
					ids = imat{i: make([]int32, rows*k), rows: rows, cols: k, stride: k}
					w = mat{f: make([]float32, rows*k), rows: rows, cols: k, stride: k}
					routeRows(ks, ids, w, logits, true, 0, rows)
					return ids, w
				}
				ids, w := run(ks)
				wantIDs, want := run(goKernels())
				what := fmt.Sprintf("%s, %d of %d", ks.name, k, experts)
				equalBits(t, what, w.f, want.f)
				for i := range ids.i {
					if ids.i[i] != wantIDs.i[i] {
						t.Fatalf("%s: row %d: got expert %d, want %d", what, i/k, ids.i[i], wantIDs.i[i])
					}
				}
			}
		}
	}
}

// TestSimdGroup compares four heads at once with one at a time, over runs of every remainder.
func TestSimdGroup(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, v := range simdLevels() {
		for _, dim := range []int{16, 48, 64, 128, 192} {
			for _, runs := range [][]run{{{0, 1}}, {{3, 2}}, {{0, 3}}, {{1, 4}}, {{0, 4}, {8, 4}, {13, 3}}, {{0, 5}, {6, 1}, {9, 11}}, {{2, maxRun}, {1030, maxRun}, {2060, 7}}} {
				stride, total, last := dim+9, 0, runs[len(runs)-1]
				for _, r := range runs {
					total += r.n
				}
				q, keys := values(rng, 4*dim, false), values(rng, (last.from+last.n)*stride, false)
				got, want := make([]float32, 4*total+1), make([]float32, 4*total+1)
				acc, ref := make([]float32, 4*dim), make([]float32, 4*dim)
				what := fmt.Sprintf("level %d, dim %d, runs %v", v, dim, runs)
				for h := range 4 {
					attendScores(simdNone, want[h*total:][:total], q[h*dim:][:dim], keys, runs, stride, 0.3)
				}
				if groupScores(v, got, q, keys, runs, stride, dim, total, 0.3) {
					equalBits(t, what+": scores", got, want)
				} else if v != simdAVX2 {
					t.Errorf("%s: got no assembly for the scores", what)
				}
				for h := range 4 {
					attendValues(simdNone, ref[h*dim:][:dim], want[h*total:][:total], keys, runs, stride)
				}
				z, zRef := new([4]float32), sums(want, total, 4)
				if groupValues(v, z, acc, want, keys, runs, stride, dim, total) {
					equalBits(t, what+": values", acc, ref)
					equalBits(t, what+": sums", z[:], zRef[:])
				}
			}
		}
	}
}

// TestSimdNorms does the same for norms of several groups, with and without a step between them.
func TestSimdNorms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for _, v := range simdLevels() {
		for _, n := range []int{1, 15, 16, 32, 48, 100, 256} {
			for _, groups := range []int{1, 2, 5} {
				for _, special := range []bool{false, true} {
					s := normSteps{n + rng.IntN(3), n + rng.IntN(20), rng.IntN(2) * n}
					x, w := values(rng, groups*s.x, special), values(rng, groups*n, special)
					got, want := make([]float32, groups*s.y), make([]float32, groups*s.y)
					norms(v, got, x, w, s, n, groups, float32(n), 1e-6)
					norms(simdNone, want, x, w, s, n, groups, float32(n), 1e-6)
					equalBits(t, fmt.Sprintf("level %d, %d groups of %d, steps %v, special %v", v, groups, n, s, special), got, want)
				}
			}
		}
	}
}

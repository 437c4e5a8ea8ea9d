package qsa

import (
	"fmt"
	"math"
	"sort"
)

// The definitions of spec 2.5 in plain Go, slow and clear: what tests and other devices are held against. Sums run in
// ascending order with one rounding per operation.

// PoolRef is the pooled key of one block: dst [Dim], raw [Ratio, Dim] the block's raw keys, norm [Dim] (1+w), block its
// number. Mean, then norm, then rope at the block's first position.
func PoolRef(dst, raw, norm []float32, g Geometry, f *InvFreq, block int) {
	var square float32
	for c := range g.Dim {
		sum := raw[c]
		for t := 1; t < g.Ratio; t++ {
			sum += raw[t*g.Dim+c]
		}
		dst[c] = sum / float32(g.Ratio)
		square += float32(dst[c] * dst[c])
	}
	r := 1 / float32(math.Sqrt(float64(square/float32(g.Dim)+g.Eps)))
	for c := range g.Dim {
		dst[c] = float32(float32(dst[c]*r) * norm[c])
	}
	half := f.Rotary() / 2
	angle := make([]float32, 2*half)
	f.Angles(angle, block*g.Ratio)
	for i := range half {
		a, b, cos, sin := dst[i], dst[i+half], angle[i], angle[i+half]
		dst[i] = float32(a*cos) - float32(b*sin)
		dst[i+half] = float32(b*cos) + float32(a*sin)
	}
}

// ScoreRef sets scores[b] = sum over heads of relu(<q_h, key_b>), q [Heads*Dim], keys [len(scores), Dim]. The constant
// 1/sqrt(Dim) of the spec changes no order and is left out.
func ScoreRef(scores, q, keys []float32, g Geometry) {
	if len(q) != g.Heads*g.Dim || len(keys) < len(scores)*g.Dim {
		panic(fmt.Sprintf("qsa: ScoreRef: got %d query values and %d key values, want %d and %d", len(q), len(keys), g.Heads*g.Dim, len(scores)*g.Dim))
	}
	for b := range scores {
		var sum float32
		for h := range g.Heads {
			var dot float32
			for c := range g.Dim {
				dot += float32(q[h*g.Dim+c] * keys[b*g.Dim+c])
			}
			sum += max(dot, 0)
		}
		scores[b] = sum
	}
}

// SelectRef lists the top blocks of scores, ascending; ties go to the lowest block. With top or fewer blocks it lists all.
func SelectRef(scores []float32, top int) []int32 {
	ids := make([]int32, len(scores))
	for i := range ids {
		ids[i] = int32(i)
	}
	sort.SliceStable(ids, func(i, j int) bool { return scores[ids[i]] > scores[ids[j]] })
	ids = ids[:min(top, len(ids))]
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

// DenseRef lists the positions that the query at position t attends to, ascending, given its chosen blocks: their
// positions, then the tail of the incomplete block. With all blocks chosen that is 0..t, plain causal attention.
func DenseRef(blocks []int32, t int, g Geometry) []int32 {
	var out []int32
	for _, b := range blocks {
		for i := range g.Ratio {
			out = append(out, b*int32(g.Ratio)+int32(i))
		}
	}
	for p := g.Complete(t+1) * g.Ratio; p <= t; p++ {
		out = append(out, int32(p))
	}
	return out
}

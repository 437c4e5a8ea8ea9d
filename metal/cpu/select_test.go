package cpu

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestChoose compares the radix search with a sort, on scores full of ties.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := rapid.SliceOfN(rapid.Float32Range(0, 1e30), 1, 6).Draw(t, "values")
		scores := rapid.SliceOfN(rapid.SampledFrom(append(pool, 0)), 2, 200).Draw(t, "scores")
		k := rapid.IntRange(1, len(scores)-1).Draw(t, "top")
		order := make([]int32, len(scores))
		for b := range order {
			order[b] = int32(b)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
		want := order[:k]
		slices.Sort(want)
		got := make([]int32, k)
		choose(got, scores)
		if !slices.Equal(got, want) {
			t.Errorf("choose %d of %v: got %v, want %v", k, scores, got, want)
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	scores := make([]float32, 65536)
	for i := range scores {
		scores[i] = float32(i * 7919 % 65537)
	}
	ids := make([]int32, 512)
	b.SetBytes(int64(len(scores)) * 4)
	for b.Loop() {
		choose(ids, scores)
	}
}

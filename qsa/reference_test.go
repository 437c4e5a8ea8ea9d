package qsa

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

func TestSelectRef(t *testing.T) {
	for _, tc := range []struct {
		name   string
		scores []float32
		top    int
		want   []int32
	}{
		{"all when they fit", []float32{3, 1, 2}, 3, []int32{0, 1, 2}},
		{"largest, ascending", []float32{3, 1, 2, 9}, 2, []int32{0, 3}},
		{"ties to the lowest block", []float32{0, 5, 0, 0, 5, 0}, 3, []int32{0, 1, 4}},
		{"all equal", []float32{0, 0, 0, 0}, 2, []int32{0, 1}},
		{"none", nil, 4, nil},
	} {
		if got := SelectRef(tc.scores, tc.top); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A block is chosen exactly if fewer than top blocks beat it, where a block beats a later one already by a tie.
func TestSelectRefRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 6), func(i int) float32 { return float32(i) })).Draw(t, "scores")
		top := rapid.IntRange(1, 9).Draw(t, "top")
		got := SelectRef(scores, top)
		if !sort.SliceIsSorted(got, func(i, j int) bool { return got[i] < got[j] }) {
			t.Fatalf("got %v, not ascending", got)
		}
		for b, s := range scores {
			beaten := 0
			for o, x := range scores {
				if x > s || x == s && o < b {
					beaten++
				}
			}
			if slices.Contains(got, int32(b)) != (beaten < top) {
				t.Fatalf("scores %v, top %d: got %v, block %d is beaten by %d", scores, top, got, b, beaten)
			}
		}
	})
}

// Spec 2.5: relu before the head sum.
func TestScoreRef(t *testing.T) {
	g := Geometry{Heads: 2, Dim: 2, Ratio: 1, Budget: 1, Eps: 1}
	scores := make([]float32, 3)
	ScoreRef(scores, []float32{1, 0, 0, 2}, []float32{3, 4, -3, 4, -3, -4}, g)
	if want := []float32{3 + 8, 8, 0}; !slices.Equal(scores, want) {
		t.Errorf("got %v, want %v", scores, want)
	}
}

// Spec 2.5: with all blocks chosen the query sees every position; with fewer, whole blocks and the tail, nothing forced.
func TestDenseRef(t *testing.T) {
	g := Geometry{Heads: 1, Dim: 2, Ratio: 4, Budget: 8, Eps: 1}
	for pos := range 12 {
		all := SelectRef(make([]float32, g.Complete(pos+1)), g.Top()+8)
		got := DenseRef(all, pos, g)
		if len(got) != pos+1 || !slices.IsSorted(got) || got[len(got)-1] != int32(pos) {
			t.Errorf("position %d: got %v, want 0 to %d", pos, got, pos)
		}
	}
	if got, want := DenseRef([]int32{0, 2}, 17, g), []int32{0, 1, 2, 3, 8, 9, 10, 11, 16, 17}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// n = 16: no tail; the query's own position is seen only if its block wins.
	if got, want := DenseRef([]int32{0, 1}, 15, g), []int32{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Mean, then norm, then rope at the block's first position (spec 2.5), said again in f64 with complex numbers.
func TestPoolRef(t *testing.T) {
	g := Geometry{Heads: 1, Dim: 10, Ratio: 3, Budget: 3, Eps: 1e-3}
	f := newFreq(t, 6, 1e4, &Yarn{Factor: 2, OriginalMax: 64})
	rng := rand.New(rand.NewPCG(1, 1))
	raw, norm, got := make([]float32, 30), make([]float32, 10), make([]float32, 10)
	for i := range raw {
		raw[i] = float32(rng.NormFloat64())
	}
	for i := range norm {
		norm[i] = float32(1 + rng.NormFloat64())
	}
	const block = 37
	PoolRef(got, raw, norm, g, f, block)
	want := make([]float64, 10)
	var square float64
	for c := range want {
		want[c] = (float64(raw[c]) + float64(raw[10+c]) + float64(raw[20+c])) / 3
		square += want[c] * want[c]
	}
	for c := range want {
		want[c] *= float64(norm[c]) / math.Sqrt(square/10+1e-3)
	}
	for i, inv := range f.Values() {
		s, c := math.Sincos(block * 3 * float64(inv))
		z := complex(want[i], want[i+3]) * complex(c, s) * complex(float64(f.Scale()), 0)
		want[i], want[i+3] = real(z), imag(z)
	}
	for c := range want {
		if d := math.Abs(float64(got[c]) - want[c]); !(d < 3e-5) { // f32 angle of 111 radians: 4e-6
			t.Errorf("value %d: got %v, want %v", c, got[c], want[c])
		}
	}
}

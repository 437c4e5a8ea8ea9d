package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/bench/stats"
)

func upTo(n int) []float64 {
	var xs []float64
	for i := range n {
		xs = append(xs, float64(i+1))
	}
	return xs
}

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		want float64
	}{
		{1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {3, 50, 2}, {4, 50, 2},
		{20, 95, 19}, {20, 96, 20}, {100, 95, 95}, {100, 99, 99}, {101, 99, 100}, {1000, 99, 990},
		{10, 0, 1}, {10, 100, 10},
	} {
		if got := stats.Percentile(upTo(c.n), c.p); got != c.want {
			t.Errorf("percentile %v of 1..%d: got %v, want %v", c.p, c.n, got, c.want)
		}
	}
	if got := stats.Percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("percentile of nothing: got %v, want NaN", got)
	}
}

// At least p percent of the values are not above the percentile, and fewer are below it.
func TestPercentileDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		p := rapid.IntRange(1, 100).Draw(t, "p")
		xs := upTo(n)
		got := stats.Percentile(xs, float64(p))
		notAbove := int(got) // of 1..n
		if 100*notAbove < p*n {
			t.Fatalf("percentile %d of 1..%d is %v: only %d values are not above it", p, n, got, notAbove)
		}
		if 100*(notAbove-1) >= p*n && notAbove > 1 {
			t.Fatalf("percentile %d of 1..%d is %v: a smaller value would do", p, n, got)
		}
	})
}

func TestSummarise(t *testing.T) {
	xs := []float64{5, 1, 4, 2, 3}
	want := stats.Summary{N: 5, Min: 1, Mean: 3, P50: 3, P95: 5, P99: 5, Max: 5}
	if d := cmp.Diff(want, stats.Summarise(xs)); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
	if xs[0] != 5 {
		t.Error("the sample was reordered")
	}
	if d := cmp.Diff(stats.Summary{}, stats.Summarise(nil)); d != "" {
		t.Errorf("of nothing (-want +got):\n%s", d)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := stats.Median(c.xs); got != c.want {
			t.Errorf("median of %v: got %v, want %v", c.xs, got, c.want)
		}
	}
}

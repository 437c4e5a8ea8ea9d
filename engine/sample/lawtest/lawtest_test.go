package lawtest

import (
	"math/rand/v2"
	"testing"
)

// Quantiles at 0.9999 from standard tables; the approximation lies up to 5 percent above them.
func TestCriticalValues(t *testing.T) {
	for df, want := range map[int]float64{2: 18.42, 5: 25.74, 10: 35.56, 30: 67.63} {
		n := df + 1
		counts, probs := make([]int, n), make([]float64, n)
		for i := range counts {
			counts[i], probs[i] = 100, 1/float64(n)
		}
		stat, got := ChiSquare(counts, probs)
		if got < want*0.995 || got > want*1.05 {
			t.Errorf("df %d: critical value %v, want %v", df, got, want)
		}
		if stat > 1e-9 {
			t.Errorf("df %d: statistic of perfect counts is %v", df, stat)
		}
	}
}

func TestPower(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	right, wrong := []float64{0.5, 0.3, 0.15, 0.05, 0}, []float64{0.48, 0.32, 0.15, 0.05, 0}
	counts := make([]int, 5)
	for range 20000 {
		u, i := r.Float64(), 0
		for u > right[i] {
			u -= right[i]
			i++
		}
		counts[i]++
	}
	if err := Check(counts, right); err != nil {
		t.Error(err)
	}
	if Check(counts, wrong) == nil {
		t.Error("a law that is 2 points off was not rejected")
	}
	counts[4]++
	if Check(counts, right) == nil {
		t.Error("a count where the law is 0 was not rejected")
	}
}

func TestMergesSmallCells(t *testing.T) {
	// 1000 draws: the last three cells expect 3, 1 and 1 and merge to 5; a single surplus count there must not be fatal.
	if err := Check([]int{602, 393, 4, 0, 1}, []float64{0.6, 0.395, 0.003, 0.001, 0.001}); err != nil {
		t.Error(err)
	}
}

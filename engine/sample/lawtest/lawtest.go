package lawtest

import (
	"fmt"
	"math"
)

// minExpected is the expected count below which cells are merged, by the usual rule for Pearson's approximation.
const minExpected = 5

// normalQuantile is the standard normal quantile at 0.9999.
const normalQuantile = 3.719016485455709

// ChiSquare compares counts with the law probs (same length, summing to 1). Cells that expect fewer than 5 are merged into one, and merged with the smallest other cell if still below 5.
// critical is the value that a right law exceeds once in 10,000 tests (Wilson-Hilferty approximation). A count where the law has probability 0 gives an infinite statistic.
func ChiSquare(counts []int, probs []float64) (stat, critical float64) {
	n := 0
	for _, c := range counts {
		n += c
	}
	var observed, expected []float64
	var restO, restE float64
	for i, c := range counts {
		e := probs[i] * float64(n)
		switch {
		case probs[i] == 0:
			if c > 0 {
				return math.Inf(1), 0
			}
		case e < minExpected:
			restO, restE = restO+float64(c), restE+e
		default:
			observed, expected = append(observed, float64(c)), append(expected, e)
		}
	}
	switch {
	case restE >= minExpected || restE > 0 && len(expected) == 0:
		observed, expected = append(observed, restO), append(expected, restE)
	case restE > 0:
		at := 0
		for i, e := range expected {
			if e < expected[at] {
				at = i
			}
		}
		observed[at] += restO
		expected[at] += restE
	}
	for i, e := range expected {
		d := observed[i] - e
		stat += d * d / e
	}
	df := float64(len(expected) - 1)
	if df < 1 {
		return stat, minExpected // one cell: the statistic is 0 unless the law does not sum to 1
	}
	c := 2 / (9 * df)
	return stat, df * math.Pow(1-c+normalQuantile*math.Sqrt(c), 3)
}

// Check returns an error if the law is rejected.
func Check(counts []int, probs []float64) error {
	if stat, critical := ChiSquare(counts, probs); stat > critical {
		return fmt.Errorf("lawtest: chi-square %.1f, critical %.1f: counts %v, law %.5f", stat, critical, counts, probs)
	}
	return nil
}

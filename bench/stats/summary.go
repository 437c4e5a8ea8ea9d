package stats

import (
	"math"
	"slices"
)

// Summary describes a sample. Percentiles are nearest-rank: values that did occur.
type Summary struct {
	N    int     `json:"n"`
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Summarise describes xs, which it leaves as it is. Of no values all figures are 0, N too.
func Summarise(xs []float64) Summary {
	if len(xs) == 0 {
		return Summary{}
	}
	s := slices.Clone(xs)
	slices.Sort(s)
	return Summary{N: len(s), Min: s[0], Mean: Mean(s), P50: Percentile(s, 50), P95: Percentile(s, 95), P99: Percentile(s, 99), Max: s[len(s)-1]}
}

// Percentile is the smallest value of a sorted sample that at least p percent (0 to 100) of the values do not exceed; NaN
// of no values. With n values nothing above 100*(1-1/n) can be told apart from the largest one.
func Percentile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	// 95 % of 20 is 19, whatever 0.95*20 is in binary.
	rank := int(math.Ceil(p*float64(n)/100 - 1e-9))
	return sorted[min(max(rank, 1), n)-1]
}

// Median is the middle value, or the mean of the two; NaN of no values.
func Median(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Clone(xs)
	slices.Sort(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Mean is the arithmetic mean; NaN of no values.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

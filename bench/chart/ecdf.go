package chart

import (
	"slices"
)

// Distribution is the line of a sample's cumulated shares in percent: y percent of the values are not above x. Long samples
// are thinned to about 200 points that keep both ends; values below floor are drawn at floor, for log axes.
func Distribution(name string, sample []float64, floor float64) Line {
	s := slices.Clone(sample)
	slices.Sort(s)
	l := Line{Name: name}
	step := max(1, len(s)/200)
	for i := range s {
		// The upper tail matters most: it is never thinned.
		if i%step == 0 || i >= len(s)-20 {
			l.X = append(l.X, max(s[i], floor))
			l.Y = append(l.Y, 100*float64(i+1)/float64(len(s)))
		}
	}
	return l
}

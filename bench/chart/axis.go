package chart

import (
	"math"
	"strconv"
)

// axis maps values to the unit interval and finds round ticks.
type axis struct {
	min, max float64
	log      bool
	step     float64 // between ticks; linear axes
}

func (a *axis) take(v float64) { a.min, a.max = min(a.min, v), max(a.max, v) }

// round widens the range to ticks: four to eight of them at 1, 2 or 5 times a power of ten; powers of ten on a log axis.
func (a *axis) round() {
	if a.log {
		a.min = math.Pow(10, math.Floor(math.Log10(a.min)+1e-9))
		a.max = math.Pow(10, math.Ceil(math.Log10(a.max)-1e-9))
		if a.min == a.max {
			a.max *= 10
		}
		return
	}
	span := a.max - a.min
	if span == 0 {
		span = max(math.Abs(a.max), 1) / 5
		a.min, a.max = a.min-span/2, a.max+span/2
	}
	a.step = math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{5, 2} {
		if span/(a.step*m) >= 3.5 {
			a.step *= m
			break
		}
	}
	a.min = math.Floor(a.min/a.step+1e-9) * a.step
	a.max = math.Ceil(a.max/a.step-1e-9) * a.step
}

// at is where a value lies, 0 to 1.
func (a *axis) at(v float64) float64 {
	if a.log {
		return math.Log(v/a.min) / math.Log(a.max/a.min)
	}
	return (v - a.min) / (a.max - a.min)
}

// ticks lists the values to name.
func (a *axis) ticks() (out []float64) {
	if a.log {
		for v := a.min; v <= a.max*1.0001; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	for i := 0; ; i++ {
		v := a.min + float64(i)*a.step
		if v > a.max+a.step/2 {
			return out
		}
		out = append(out, v)
	}
}

// label is a tick's text: no more digits than the step calls for.
func (a *axis) label(v float64) string {
	if a.log && v < 1e6 {
		return strconv.FormatFloat(v, 'f', max(0, int(math.Ceil(-math.Log10(v)-1e-9))), 64)
	}
	if a.log {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := max(0, int(math.Ceil(-math.Log10(a.step)-1e-9)))
	if math.Abs(v) < a.step/1e6 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

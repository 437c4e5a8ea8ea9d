package chart

import (
	"errors"
	"fmt"
	"math"
)

// ErrEmpty is returned (wrapped) for a panel without a point, or with one that is no number.
var ErrEmpty = errors.New("chart: nothing to draw")

// Figure is a title over panels.
type Figure struct {
	Title  string
	Notes  []string // lines below the title
	Panels []Panel
}

// Panel is one pair of axes.
type Panel struct {
	Title  string
	X, Y   string   // axis labels, with units
	LogX   bool     // x values must be above 0
	FromY0 bool     // the y axis begins at 0
	Ticks  []string // names of x = 0, 1, 2, ... instead of numbers
	Lines  []Line
}

// Line is one series.
type Line struct {
	Name   string
	X, Y   []float64
	Points bool // mark the points
}

// check finds the range of the panel's values.
func (p *Panel) check() (x, y axis, err error) {
	x, y = axis{min: math.Inf(1), max: math.Inf(-1), log: p.LogX}, axis{min: math.Inf(1), max: math.Inf(-1)}
	n := 0
	for _, l := range p.Lines {
		if len(l.X) != len(l.Y) {
			return x, y, fmt.Errorf("%w: panel %q, line %q: %d x and %d y values", ErrEmpty, p.Title, l.Name, len(l.X), len(l.Y))
		}
		for i := range l.X {
			if bad(l.X[i]) || bad(l.Y[i]) || p.LogX && l.X[i] <= 0 {
				return x, y, fmt.Errorf("%w: panel %q, line %q: point %d is (%v, %v)", ErrEmpty, p.Title, l.Name, i, l.X[i], l.Y[i])
			}
			x.take(l.X[i])
			y.take(l.Y[i])
			n++
		}
	}
	if n == 0 {
		return x, y, fmt.Errorf("%w: panel %q has no points", ErrEmpty, p.Title)
	}
	if p.FromY0 {
		y.take(0)
	}
	if len(p.Ticks) > 0 {
		x.take(-0.25)
		x.take(float64(len(p.Ticks)) - 0.75)
	} else {
		x.round()
	}
	y.round()
	return x, y, nil
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

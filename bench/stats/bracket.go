package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrWindows is wrapped when windows cannot be compared.
var ErrWindows = errors.New("stats: windows cannot be compared")

// Control is the arm number of control windows; arms count from 1.
const Control = 0

// Window is one measured window, in the order of time.
type Window struct {
	Arm   int
	Value float64 // above 0
}

// Direction says which values are good.
type Direction int

// The directions.
const (
	More Direction = iota // a rate: more is better
	Less                  // a time: less is better
)

// Bracket is one series of windows that begins and ends with a control.
type Bracket struct {
	Control float64        `json:"control"` // mean of the control windows
	Noise   float64        `json:"noise"`   // spread of the control windows as a share of their mean: (max-min)/mean
	Drift   float64        `json:"drift"`   // last control against the first, as a share: a trend, where noise has no sign
	Arms    map[int]Versus `json:"arms"`
}

// Versus is one arm against the controls around it.
type Versus struct {
	Mean  float64 `json:"mean"`  // of the arm's windows
	Gain  float64 `json:"gain"`  // against the control, as a share; above 0 is better, whatever the direction
	Beats bool    `json:"beats"` // every window of the arm is better than every control window
	Loses bool    `json:"loses"` // every window of the arm is worse than every control window
}

// Compare reads a series. With windows in mirror order (control, a, b, b, a, control) the mean of every arm lies at the same
// time, so that a steady drift of the machine cancels out.
func Compare(windows []Window, d Direction) (Bracket, error) {
	values := map[int][]float64{}
	for i, w := range windows {
		if !(w.Value > 0) || math.IsInf(w.Value, 0) {
			return Bracket{}, fmt.Errorf("%w: window %d has the value %v, want a number above 0", ErrWindows, i+1, w.Value)
		}
		values[w.Arm] = append(values[w.Arm], w.Value)
	}
	if n := len(windows); n < 3 || windows[0].Arm != Control || windows[n-1].Arm != Control {
		return Bracket{}, fmt.Errorf("%w: got %d windows, want at least a control, an arm and a control, in this order", ErrWindows, n)
	}
	controls := values[Control]
	if len(values) < 2 {
		return Bracket{}, fmt.Errorf("%w: no window of an arm", ErrWindows)
	}
	low, high := slices.Min(controls), slices.Max(controls)
	b := Bracket{Control: Mean(controls), Arms: map[int]Versus{}}
	b.Noise = (high - low) / b.Control
	b.Drift = controls[len(controls)-1]/controls[0] - 1
	for arm, xs := range values {
		if arm == Control {
			continue
		}
		v := Versus{Mean: Mean(xs)}
		above, below := slices.Min(xs) > high, slices.Max(xs) < low
		if d == More {
			v.Gain, v.Beats, v.Loses = v.Mean/b.Control-1, above, below
		} else {
			v.Gain, v.Beats, v.Loses = b.Control/v.Mean-1, below, above
		}
		b.Arms[arm] = v
	}
	return b, nil
}

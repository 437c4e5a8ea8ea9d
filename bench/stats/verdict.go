package stats

import (
	"fmt"
	"math"
)

// Kind is a verdict in one word.
type Kind string

// The verdicts.
const (
	Gain    Kind = "gain"    // better by more than the noise, in every window of every seed
	Loss    Kind = "loss"    // worse by more than the noise, in every window of every seed
	Neutral Kind = "neutral" // no further from the control than the controls are from each other, and these are close
	Unclear Kind = "unclear" // none of these: more series, or a quieter machine, are needed
)

// Verdict is what all series say of one arm.
type Verdict struct {
	Kind  Kind    `json:"kind"`
	Gain  float64 `json:"gain"`  // mean over the series, as a share; above 0 is better
	Low   float64 `json:"low"`   // worst series
	High  float64 `json:"high"`  // best series
	Noise float64 `json:"noise"` // largest spread between control windows of a series
	Beats bool    `json:"beats"` // every window beats every control window of its series
	Loses bool    `json:"loses"` // every window loses to every control window of its series
	Why   string  `json:"why"`
}

// Series is how many series a gain or a loss must be seen in.
const Series = 3

// Quiet is the largest noise at which finding no difference says that there is none of interest.
const Quiet = 0.10

// Judge gives the verdict on an arm that is in every series. A gain must pass two tests that fail in different ways: the
// mean must be larger than the largest spread between control windows, and no window of the arm may be as slow as any
// control window of its series. Without effect the second alone happens by chance once in six series of two controls and
// two windows, so it takes at least Series of them (once in 216) to speak of a gain or a loss.
func Judge(series []Bracket, arm int) (Verdict, error) {
	if len(series) == 0 {
		return Verdict{}, fmt.Errorf("%w: no series", ErrWindows)
	}
	v := Verdict{Low: math.Inf(1), High: math.Inf(-1), Beats: true, Loses: true}
	for i, b := range series {
		a, ok := b.Arms[arm]
		if !ok {
			return Verdict{}, fmt.Errorf("%w: series %d has no window of arm %d", ErrWindows, i+1, arm)
		}
		v.Gain += a.Gain / float64(len(series))
		v.Low, v.High = min(v.Low, a.Gain), max(v.High, a.Gain)
		v.Noise = max(v.Noise, b.Noise)
		v.Beats, v.Loses = v.Beats && a.Beats, v.Loses && a.Loses
	}
	v.Kind, v.Why = v.decide(len(series))
	return v, nil
}

func (v Verdict) decide(series int) (Kind, string) {
	large := math.Abs(v.Gain) > v.Noise
	gain, noise := fmt.Sprintf("%+.1f %%", 100*v.Gain), fmt.Sprintf("%.1f %%", 100*v.Noise)
	switch {
	case large && (v.Beats || v.Loses) && series < Series:
		return Unclear, fmt.Sprintf("%s is more than the noise of %s, and windows and control windows do not overlap, but that happens by chance in %d series; it takes %d", gain, noise, series, Series)
	case large && v.Beats:
		return Gain, gain + " is more than the noise of " + noise + ", and every window beats every control window"
	case large && v.Loses:
		return Loss, gain + " is more than the noise of " + noise + ", and every window loses to every control window"
	case large:
		return Unclear, gain + " is more than the noise of " + noise + ", but windows and control windows overlap"
	case v.Beats || v.Loses:
		return Unclear, gain + " is within the noise of " + noise + ", though windows and control windows do not overlap"
	}
	if v.Noise > Quiet {
		return Unclear, gain + " is within the noise of " + noise + ", which would hide a difference of that size"
	}
	return Neutral, gain + " is within the noise of " + noise
}

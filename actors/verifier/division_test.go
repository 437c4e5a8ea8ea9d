package verifier

import (
	"testing"
	"time"
)

// run has so many sequences run stints in the way that d chooses, each round taking as long as of(divided); it returns how many stints were divided.
func (d *division) run(sequences, stints int, of func(divided bool) time.Duration) (divided int) {
	now := time.Unix(1, 0)
	for range stints {
		way := d.divided(sequences)
		if way {
			divided++
		}
		for range stintRounds {
			d.starts(sequences, way, now)
			now = now.Add(of(way))
			d.ends(sequences, sequences, now)
		}
	}
	return divided
}

func TestDivisionKeepsTheQuickerWay(t *testing.T) {
	slow := func(whole, halves time.Duration) func(bool) time.Duration {
		return func(divided bool) time.Duration {
			if divided {
				return halves
			}
			return whole
		}
	}
	var d division
	if got := d.run(8, trialStints, slow(3, 2)); got != trialStints/2 {
		t.Errorf("first trial: got %d of %d stints divided, want half", got, trialStints)
	}
	if got := d.run(8, 20, slow(3, 2)); got != 20 {
		t.Errorf("halves are quicker: got %d of 20 stints divided, want all", got)
	}
	if got := d.run(4, trialStints+20, slow(2, 3)); got != trialStints/2 {
		t.Errorf("another number of sequences, the whole is quicker: got %d stints divided, want only those of the trial", got)
	}
	if !d.divided(8) {
		t.Error("what holds for 4 sequences was taken for 8")
	}
	// The machine changes.
	d.run(8, trialEvery-20-trialStints, slow(2, 3))
	if got := d.run(8, trialStints+20, slow(2, 3)); got != trialStints/2 {
		t.Errorf("next trial: got %d stints divided, want only those of the trial", got)
	}
}

// TestDivisionTimesWhatIsAlike: a stint in which something else ran, or in which a sequence came or left, counts for nothing.
func TestDivisionTimesWhatIsAlike(t *testing.T) {
	now := time.Unix(1, 0)
	var d division
	round := func(sequences int) {
		d.starts(sequences, true, now)
		now = now.Add(time.Millisecond)
		d.ends(sequences, sequences, now)
	}
	for range 3 {
		for range stintRounds - 1 {
			round(2)
		}
		d.stops()
		for range stintRounds - 1 {
			round(2)
		}
		round(3)
	}
	for range 2 * stintRounds {
		round(1) // one sequence has no choice
	}
	if len(d.choices) != 0 {
		t.Errorf("broken stints were taken in: %v", d.choices)
	}
	for range stintRounds {
		round(2)
	}
	if c := d.choices[2]; c == nil || c.stints != 1 || c.best[1] != 2e-6 {
		t.Errorf("a whole stint of 2 rows a millisecond: got %+v, want one of 2e-6 rows a nanosecond", c)
	}
}

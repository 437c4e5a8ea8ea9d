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
			d.ends(way, sequences, sequences, now)
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
	if d.divided(8) {
		t.Error("nothing is known yet: got two passes, want one")
	}
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

// TestStintsAreMadeOfPieces: what lies between passes, and what runs in the other way, is not timed; a server whose prompts never cease
// finds out, too.
func TestStintsAreMadeOfPieces(t *testing.T) {
	now := time.Unix(1, 0)
	var d division
	round := func(sequences int, divided bool) {
		d.starts(sequences, divided, now)
		now = now.Add(time.Millisecond)
		d.ends(!divided, sequences, sequences, now) // the last of before
		d.ends(divided, sequences, sequences, now)
	}
	for range stintRounds - 1 {
		round(2, false)
		d.stops() // a prompt's chunk
		now = now.Add(time.Second)
		round(3, false)
	}
	if c := d.choices[2]; c.stints != 0 || d.divided(2) {
		t.Errorf("before the end of a stint: got %+v, want none, and one pass", c)
	}
	round(2, false)
	if c := d.choices[2]; c.stints != 1 || c.best != [2]float64{2e-6, 0} || !d.divided(2) {
		t.Errorf("a stint of 2 rows a millisecond: got %+v, want one of 2e-6 rows a nanosecond, and two passes next", c)
	}
}

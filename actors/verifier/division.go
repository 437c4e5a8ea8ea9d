package verifier

import "time"

const (
	// stintRounds is how many rounds of every sequence are timed together.
	stintRounds = 8
	// trialStints are timed by turns in one pass and in two. A trial is made again after trialEvery stints: machines and contexts change.
	trialStints = 8
	trialEvery  = 256
)

// division decides whether the sequences that decode run in one pass, on all threads, or in two passes at once, each of half of them on half
// of the threads. Two need no word between their threads, and the one's sampling and messages are beside the other's pass; but
// each reads the weights. Which is quicker depends on the model, the machine and on how many sequences there are, so it is timed, for each
// number of sequences. It never changes what comes out. The zero value is ready.
type division struct {
	choices map[int]*choice
	stint   stint
}

// choice is what is known for a number of sequences.
type choice struct {
	stints  int        // timed since the last trial began
	best    [2]float64 // rows per nanosecond of the quickest stint: whole, divided
	divided bool
}

// stint is a run of passes of one kind with nothing else between them.
type stint struct {
	sequences    int
	divided      bool
	began        time.Time // zero: there is none
	rounds, rows int
}

// divided reports how so many sequences are to run now.
func (d *division) divided(sequences int) bool {
	if c := d.choices[sequences]; c != nil && c.stints >= trialStints {
		return c.divided
	} else if c != nil {
		return c.stints%2 == 0
	}
	return true
}

// starts notes that a pass starts.
func (d *division) starts(sequences int, divided bool, now time.Time) {
	if sequences < 2 {
		d.stops() // there is nothing to choose
		return
	}
	if b := &d.stint; b.began.IsZero() || b.sequences != sequences || b.divided != divided {
		*b = stint{sequences: sequences, divided: divided, began: now}
	}
}

// stops ends the stint before its time: something else runs.
func (d *division) stops() { d.stint = stint{} }

// ends notes that a pass of so many rounds and rows has ended.
func (d *division) ends(rounds, rows int, now time.Time) {
	b := &d.stint
	if b.began.IsZero() {
		return
	}
	b.rounds += rounds
	b.rows += rows
	if b.rounds < stintRounds*b.sequences {
		return
	}
	if took := now.Sub(b.began); took > 0 {
		d.note(float64(b.rows) / float64(took))
	}
	d.stops()
}

// note takes in the rate of the stint that has ended.
func (d *division) note(rate float64) {
	if d.choices == nil {
		d.choices = map[int]*choice{}
	}
	c := d.choices[d.stint.sequences]
	if c == nil {
		c = &choice{}
		d.choices[d.stint.sequences] = c
	}
	way := 0
	if d.stint.divided {
		way = 1
	}
	if c.stints < trialStints {
		c.best[way] = max(c.best[way], rate)
	}
	switch c.stints++; c.stints {
	case trialStints:
		c.divided = c.best[1] > c.best[0]
	case trialEvery:
		c.stints, c.best = 0, [2]float64{}
	}
}

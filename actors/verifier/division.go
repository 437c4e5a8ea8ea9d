package verifier

import "time"

const (
	// stintRounds is how many rounds of every sequence are timed together.
	stintRounds = 8
	// trialStints are timed by turns, in one pass and in two. A trial is made again after trialEvery stints: machines and contexts change.
	trialStints = 8
	trialEvery  = 256
)

// division decides whether the sequences that decode run in one pass, on all threads, or in two passes at once, each of half of them on half
// of the threads; a single one may run on half of them, too. Halves have less or no word to pass between their threads, and the one's sampling and
// messages are beside the other's pass; but each reads the weights. Which is quicker depends on the model, on the machine, whose cores may be far from
// each other this minute, and on how many sequences there are, so it is timed, for each number of them. It never changes what comes out.
// The zero value is ready.
type division struct {
	choices map[int]*choice
	piece   piece
}

// choice is what is known for a number of sequences, and the stint that is being timed for it.
type choice struct {
	sequences    int
	rounds, rows int           // of the stint so far,
	took         time.Duration // and its time
	stints       int           // timed since the last trial began
	best         [2]float64    // rows per nanosecond of the quickest stint: whole, divided
	divided      bool
}

// piece is a run of passes of one kind with nothing else between them: a stint, or as much of one as there was until a prompt came in between,
// or another sequence.
type piece struct {
	of           *choice // nil: there is none
	divided      bool
	began, ended time.Time
	rounds, rows int
}

// divided reports how so many sequences are to run now: on all threads, until halves are known to be quicker.
func (d *division) divided(sequences int) bool {
	c := d.choices[sequences]
	if c != nil && c.stints < trialStints {
		return c.stints%2 == 1
	}
	return c != nil && c.divided
}

// starts notes that a pass starts.
func (d *division) starts(sequences int, divided bool, now time.Time) {
	if p := &d.piece; p.of != nil && p.of.sequences == sequences && p.divided == divided {
		return
	}
	d.stops()
	c := d.choices[sequences]
	if c == nil {
		c = &choice{sequences: sequences}
		if d.choices == nil {
			d.choices = map[int]*choice{}
		}
		d.choices[sequences] = c
	}
	d.piece = piece{of: c, divided: divided, began: now}
}

// ends notes that a pass of so many rounds and rows has ended. One of the other kind started before the piece did, and is not of it.
func (d *division) ends(divided bool, rounds, rows int, now time.Time) {
	p := &d.piece
	if p.of == nil || p.divided != divided {
		return
	}
	p.rounds, p.rows, p.ended = p.rounds+rounds, p.rows+rows, now
	if p.of.rounds+p.rounds >= stintRounds*p.of.sequences {
		d.stops()
	}
}

// stops ends the piece: something else runs now, or its stint is over.
func (d *division) stops() {
	p := d.piece
	d.piece = piece{}
	if p.of == nil || p.rounds == 0 {
		return
	}
	c := p.of
	c.rounds, c.rows, c.took = c.rounds+p.rounds, c.rows+p.rows, c.took+p.ended.Sub(p.began)
	if c.rounds >= stintRounds*c.sequences {
		c.note(p.divided)
	}
}

// note takes in the stint that is over.
func (c *choice) note(divided bool) {
	way := 0
	if divided {
		way = 1
	}
	if c.stints < trialStints && c.took > 0 {
		c.best[way] = max(c.best[way], float64(c.rows)/float64(c.took))
	}
	c.rounds, c.rows, c.took = 0, 0, 0
	switch c.stints++; c.stints {
	case trialStints:
		c.divided = c.best[1] > c.best[0]
	case trialEvery:
		c.stints, c.best = 0, [2]float64{}
	}
}

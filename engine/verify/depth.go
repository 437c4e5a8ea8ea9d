package verify

import "slices"

// Depths chooses how many drafts the rounds of a batch get, by what rounds have cost and how many drafts were accepted
// here so far. It changes speed and never a byte. The zero value is not usable; call NewDepths. One goroutine at a time.
//
// What it knows per batch width (number of sequences, in powers of two) and depth is the median time of its last rounds,
// so that one slow round, a cold start or a busy machine, teaches it nothing. It starts with the deepest; now and then a
// round is spent on the depth it knows least of, more rarely for a single sequence, where drafts nearly always pay.
type Depths struct {
	max    int
	cells  map[cell]*times
	rounds map[int]int      // by width
	taken  []acceptEstimate // by depth, from 0
}

type cell struct{ width, depth int }

// times is a small ring of round times in nanoseconds.
type times struct {
	ring [recent]int64
	n    int
}

// acceptEstimate is the share of judged drafts that were accepted, older rounds counting less.
type acceptEstimate struct{ judged, accepted float64 }

const (
	recent    = 9 // rounds a median is taken of
	trials    = 3 // rounds before a depth's cost is believed
	every     = 16
	everyLone = 64 // the same for a width of one
	forgetful = 0.99
)

// NewDepths returns a policy for depths 0 to limit.
func NewDepths(limit int) *Depths {
	return &Depths{max: limit, cells: map[cell]*times{}, rounds: map[int]int{}, taken: make([]acceptEstimate, limit)}
}

// Observe notes a batch of n sequences whose round had `depth` drafts each and took nanos in passes.
func (d *Depths) Observe(n, depth int, nanos int64) {
	if n < 1 || depth < 0 || depth > d.max || nanos <= 0 {
		return
	}
	c := cell{width(n), depth}
	t := d.cells[c]
	if t == nil {
		t = &times{}
		d.cells[c] = t
	}
	t.ring[t.n%recent] = nanos * 1000 / int64(n) // per sequence, so that widths of one class compare
	t.n++
}

// Accepted notes one sequence's round.
func (d *Depths) Accepted(drafted int, r Result) {
	for i := range min(drafted, d.max) {
		if i >= len(r.Tokens) {
			break
		}
		e := &d.taken[i]
		e.judged, e.accepted = e.judged*forgetful+1, e.accepted*forgetful
		if i < r.Accepted {
			e.accepted++
		}
	}
}

// Choose returns the depth for a batch of n sequences, at most limit.
func (d *Depths) Choose(n, limit int) int {
	limit = min(limit, d.max)
	if limit <= 0 {
		return 0
	}
	w := width(n)
	d.rounds[w]++
	round := d.rounds[w]
	pause := every
	if w == 1 {
		pause = everyLone
	}
	if round%pause == 0 {
		return d.leastKnown(w, limit)
	}
	best, most := limit, 0.0
	for depth := limit; depth >= 0; depth-- {
		t := d.cells[cell{w, depth}]
		if t == nil || t.n < trials {
			continue
		}
		if rate := d.tokens(depth) / float64(t.median()); rate > most {
			best, most = depth, rate
		}
	}
	return best
}

// leastKnown is the depth with the fewest rounds, the deeper of two.
func (d *Depths) leastKnown(w, limit int) int {
	least, fewest := limit, int(^uint(0)>>1)
	for depth := limit; depth >= 0; depth-- {
		n := 0
		if t := d.cells[cell{w, depth}]; t != nil {
			n = t.n
		}
		if n < fewest {
			least, fewest = depth, n
		}
	}
	return least
}

// tokens is how many tokens a sequence's round of this depth is expected to emit.
func (d *Depths) tokens(depth int) float64 {
	sum, p := 1.0, 1.0
	for i := range depth {
		e := d.taken[i]
		if e.judged == 0 {
			break
		}
		p *= e.accepted / e.judged
		sum += p
	}
	return sum
}

func (t *times) median() int64 {
	s := slices.Clone(t.ring[:min(t.n, recent)])
	slices.Sort(s)
	return s[len(s)/2]
}

// width is the class of a batch: the power of two at or above n.
func width(n int) int {
	w := 1
	for w < n {
		w *= 2
	}
	return w
}

package server

import (
	"math"
	"sync"
	"time"
)

// Bounds of what a client is told to wait, in seconds: never at once, and never so long that a guess costs it an hour.
const (
	leastWait = 1
	mostWait  = 120
)

// pace is a moving mean of how long answers take, for honest Retry-After figures.
type pace struct {
	mu   sync.Mutex
	mean float64 // seconds; 0 before the first answer
}

// note takes one finished answer in; the newest weighs a fifth.
func (p *pace) note(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		p.mean = took.Seconds()
		return
	}
	p.mean += (took.Seconds() - p.mean) / 5
}

// seconds is the mean.
func (p *pace) seconds() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mean
}

// slotFree is when a slot, and with it a place in the queue, is to be expected: with n slots at work one ends every n-th part
// of an answer's time.
func (p *pace) slotFree(st Status) int { return wait(p.seconds() / float64(max(st.Slots, 1))) }

// wait rounds seconds up to what Retry-After takes.
func wait(seconds float64) int {
	return int(math.Ceil(min(max(seconds, leastWait), mostWait)))
}

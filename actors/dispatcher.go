package actors

import "sync"

// crew runs the turns of the house's actors on goroutines that are kept between turns. A turn on a fresh goroutine begins with a small
// stack and has it copied as it grows, which costs more than all that most turns do.
type crew struct {
	mu     sync.Mutex
	idle   []chan func() // of goroutines that wait for a turn, the last to come first out
	closed bool
}

// mostIdle bounds how many wait; beyond that they end after their turn.
const mostIdle = 16

// Schedule implements actor.Dispatcher.
func (c *crew) Schedule(turn func()) {
	c.mu.Lock()
	n := len(c.idle)
	if n == 0 {
		c.mu.Unlock()
		go c.work(turn)
		return
	}
	next := c.idle[n-1]
	c.idle = c.idle[:n-1]
	c.mu.Unlock()
	next <- turn // has room
}

// Throughput implements actor.Dispatcher: messages an actor may work off before others get a turn.
func (c *crew) Throughput() int { return 300 }

func (c *crew) work(turn func()) {
	next := make(chan func(), 1)
	for turn != nil {
		turn()
		c.mu.Lock()
		if c.closed || len(c.idle) >= mostIdle {
			c.mu.Unlock()
			return
		}
		c.idle = append(c.idle, next)
		c.mu.Unlock()
		turn = <-next
	}
}

// close ends those who wait. Turns that come later run on goroutines of their own.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, next := range c.idle {
		next <- nil
	}
	c.idle = nil
}

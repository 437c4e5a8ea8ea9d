package cpu

import "sync"

// scratch is reusable room for the ops that need some per call; its contents are garbage on entry.
type scratch struct {
	f    []float32
	runs []run
}

// scratches recycles scratch between ops, streams and workers. It carries room, never values, so it is no state of the device.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

// takeScratch returns scratch with room for n values; give it back with free.
func takeScratch(n int) *scratch {
	c := scratches.Get().(*scratch)
	c.grow(n)
	return c
}

func (c *scratch) free() { scratches.Put(c) }

// grow makes room for n values; the contents are garbage.
func (c *scratch) grow(n int) {
	if cap(c.f) < n {
		c.f = floatsOf(heapBytes(4 * (n + n/4)))
	}
	c.f = c.f[:n]
}

package actors

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Every turn runs once, side by side where they must, before and after the crew is sent home; who waits then ends.
func TestCrewRunsEveryTurn(t *testing.T) {
	c := &crew{}
	var ran atomic.Int64
	var all sync.WaitGroup
	const turns = 3 * mostIdle
	round := func() {
		var meet sync.WaitGroup // turns that wait for each other need a goroutine each
		meet.Add(turns)
		for range turns {
			all.Add(1)
			c.Schedule(func() {
				defer all.Done()
				meet.Done()
				meet.Wait()
				ran.Add(1)
			})
		}
		all.Wait()
	}
	for range 50 {
		round()
	}
	c.close()
	round()
	if got := ran.Load(); got != 51*turns {
		t.Errorf("got %d turns, want %d", got, 51*turns)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) != 0 {
		t.Errorf("closed crew: %d wait, want none", len(c.idle))
	}
}

// The next turn runs on the goroutine of the one before.
func TestCrewKeepsGoroutines(t *testing.T) {
	c := &crew{}
	defer c.close()
	done := make(chan struct{})
	for range 100 {
		c.Schedule(func() { done <- struct{}{} })
		<-done
		for { // until it waits
			c.mu.Lock()
			n := len(c.idle)
			c.mu.Unlock()
			if n == 1 {
				break
			}
			if n > 1 {
				t.Fatalf("got %d goroutines, want 1", n)
			}
			time.Sleep(time.Microsecond)
		}
	}
}

package cpu

import (
	"testing"
	"time"
)

// The quicker way is found, kept until the next trial, and given up when it has become the slower one.
func TestTrialKeepsTheQuickerWay(t *testing.T) {
	var tr trial
	var calls [2]int
	slow := 0
	way := func(i int) func() {
		return func() {
			calls[i]++
			if i == slow {
				for start := time.Now(); time.Since(start) < 200*time.Microsecond; {
				}
			}
		}
	}
	together, alone := way(0), way(1)
	for _, c := range []struct {
		slow int
		want [2]int // calls of each way in a period
	}{
		{0, [2]int{trialRuns / 2, trialEvery - trialRuns/2}},
		{1, [2]int{trialEvery - trialRuns/2, trialRuns / 2}},
	} {
		slow, calls = c.slow, [2]int{}
		for range trialEvery {
			tr.do(together, alone)
		}
		if calls != c.want {
			t.Errorf("way %d slow: got %v calls together and alone, want %v", c.slow, calls, c.want)
		}
	}
}

package cpu

import "time"

// trial decides between two ways of doing the same thing, to the same bits, of which one shares the work with another thread and one does not. Which
// is quicker is a matter of how far apart the two cores are: with a third-level cache in common one hears of the other's writes in some
// 50 ns, without one in 160, and a virtual machine is moved between the two from minute to minute. So now and then both are timed.
type trial struct {
	calls int
	best  [2]time.Duration // together, alone
	alone bool
}

const (
	trialEvery = 2048 // calls from one trial to the next
	trialRuns  = 48   // calls of a trial, by turns; only the quickest of each way counts, since other work only ever adds time
)

// do calls one of the ways.
func (t *trial) do(together, alone func()) {
	way := 0
	if t.alone {
		way = 1
	}
	timed := t.calls < trialRuns
	if timed {
		way = t.calls & 1
	}
	var start time.Time
	if timed {
		start = time.Now()
	}
	if way == 1 {
		alone()
	} else {
		together()
	}
	if timed {
		if took := time.Since(start); t.calls < 2 || took < t.best[way] {
			t.best[way] = took
		}
	}
	switch t.calls++; t.calls {
	case trialRuns:
		t.alone = t.best[1] < t.best[0]
	case trialEvery:
		t.calls = 0
	}
}

package worker

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestBreathComesBack: a worker that waits for its own byte goes on, and its pipe ends with it.
func TestBreathComesBack(t *testing.T) {
	defer goleak.VerifyNone(t)
	var b breath
	b.take() // it has no pipe: no wait
	b.open()
	if b.send == nil {
		t.Fatal("got no pipe")
	}
	for range 3 {
		b.last = time.Time{} // it is time again
		b.take()
	}
	before := b.last
	b.take()
	if b.last != before {
		t.Error("took a breath that was not due")
	}
	b.end()
}

func TestBreathThatWasNeverTakenEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := StartBreathing(false)
	w.Stop()
	w = StartBreathing(false)
	done := make(chan struct{})
	w.Do(Job{Run: func() { w.Breathe(); close(done) }, Broken: func(v any, _ []byte) { t.Error(v); close(done) }})
	<-done
	w.Stop()
}

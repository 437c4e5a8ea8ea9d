package bus

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestSlowListenerIsToldWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var b Bus
		slow := b.Listen(ctx)
		for i := range depth + 3 {
			b.Publish("round", i)
		}
		for i := range depth {
			if e := <-slow; e.Data != i || e.Dropped != 0 {
				t.Fatalf("event %d: got data %v dropped %d, want data %d dropped 0", i, e.Data, e.Dropped, i)
			}
		}
		b.Publish("round", "after")
		if e := <-slow; e.Data != "after" || e.Dropped != 3 {
			t.Errorf("after the gap: got %v dropped %d, want \"after\" dropped 3", e.Data, e.Dropped)
		}
		cancel()
		synctest.Wait()
		if _, open := <-slow; open {
			t.Error("channel still open after the context ended")
		}
		if !b.Idle() {
			t.Error("bus still has a listener")
		}
	})
}

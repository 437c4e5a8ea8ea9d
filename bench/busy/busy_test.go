package busy

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	m := parse("cpu  100 20 30 400 50 6 7 80 9 10")
	if !m.ok || math.Abs(m.total-6.93) > 1e-9 || math.Abs(m.used-2.43) > 1e-9 {
		t.Errorf("got %+v, want 6.93 s in all and 2.43 s without idle and iowait", m)
	}
	for _, bad := range []string{"", "cpu", "cpu0 1 2 3 4 5", "cpu 1 2 x 4 5", "cpu 1 2 3"} {
		if m := parse(bad); m.ok {
			t.Errorf("%q: got %+v", bad, m)
		}
	}
}

func TestOthers(t *testing.T) {
	now := Now()
	if !now.ok {
		t.Log("this system has no /proc/stat: others are not known here, and nothing is measured again")
		if got := Others(now, 1); got != -1 {
			t.Errorf("got %v, want -1", got)
		}
		return
	}
	// Ten seconds ago 4 had been used less; ours were 3 of them.
	then := Moment{total: now.total - 10, used: now.used - 4, ok: true}
	if got := Others(then, 3); got < 0.09 || got > 0.2 {
		t.Errorf("got %v, want 0.1", got)
	}
	if got := Others(then, 9); got != 0 {
		t.Errorf("more of our own than in all: got %v, want 0", got)
	}
	if got := Others(then, 0); got != -1 {
		t.Errorf("a server that does not tell: got %v, want -1", got)
	}
}

func TestAwait(t *testing.T) {
	begin := time.Now()
	if err := Await(context.Background(), 1, time.Minute); err != nil || time.Since(begin) > 30*time.Second {
		t.Errorf("any machine is quiet enough for a limit of 1: got %v after %v", err, time.Since(begin))
	}
	if err := Await(context.Background(), -1, 10*time.Millisecond); err != nil {
		t.Errorf("patience that runs out is no error, got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Await(ctx, -1, time.Minute); Now().ok && err == nil {
		t.Error("a cancelled wait went on")
	}
}

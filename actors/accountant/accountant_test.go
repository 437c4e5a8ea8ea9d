package accountant

import (
	"errors"
	"strings"
	"testing"
)

type pile int64

func (p *pile) Bytes() int64 { return int64(*p) }

func (p *pile) Evict(bytes int64) int64 {
	n := min(bytes, int64(*p))
	*p -= pile(n)
	return n
}

func TestPromises(t *testing.T) {
	const m = 1 << 20
	snapshots := pile(300 * m)
	a := New(1000*m, func() int64 { return 400 * m })
	a.Use(&snapshots)
	if err := a.Check(601 * m); !errors.Is(err, ErrNever) || !strings.Contains(err.Error(), "601 MiB") || !strings.Contains(err.Error(), "600 MiB") {
		t.Errorf("Check above the room: got %v, want ErrNever with 601 and 600 MiB", err)
	}
	if err := a.Check(600 * m); err != nil {
		t.Errorf("Check of all the room: got %v", err)
	}
	if !a.Reserve("a", 250*m) || snapshots != 300*m {
		t.Errorf("a: want it promised beside the snapshots, %d MiB of which are left", snapshots/m)
	}
	if !a.Reserve("b", 200*m) || snapshots != 150*m {
		t.Errorf("b: want it promised after evicting 150 MiB, %d MiB are left", snapshots/m)
	}
	if a.Reserve("c", 200*m) {
		t.Error("c: promised 200 MiB where 150 are left when all snapshots are gone")
	}
	if snapshots != 0 {
		t.Errorf("snapshots: %d MiB left, want none before anyone waits", snapshots/m)
	}
	a.Release("a")
	a.Release("a")
	if !a.Reserve("c", 200*m) {
		t.Error("c after a left: got refused")
	}
	if f := a.Figures(); f.Promised != 400*m {
		t.Errorf("promised: got %d MiB, want 400", f.Promised/m)
	}
}

func TestNoLimit(t *testing.T) {
	a := New(0, func() int64 { return 1 << 40 })
	if a.Check(1<<50) != nil || !a.Reserve("a", 1<<50) {
		t.Error("without a limit: got refused")
	}
}

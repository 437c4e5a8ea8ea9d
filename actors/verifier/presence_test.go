package verifier

import (
	"context"
	"testing"

	"github.com/flashlane/flashlane/actors/round"
)

func TestPresenceCountsWhoComesBack(t *testing.T) {
	var p presence
	var all []*round.Ticket
	var leave []context.CancelFunc
	for _, name := range []string{"a", "b", "c"} {
		t, cancel := ticket(name, 0)
		all, leave = append(all, t), append(leave, cancel)
	}
	step := func(what string, want int) {
		t.Helper()
		if got := p.count(); got != want {
			t.Fatalf("%s: got %d sequences, want %d", what, got, want)
		}
	}
	step("nobody came", 0)
	for _, t := range all {
		p.see(t)
	}
	step("three came", 3)
	for range 8 { // a pass each of the others, more than twice: c's reader may just be slow to take what it has
		p.pass()
		p.see(all[0])
		p.see(all[1])
	}
	step("one is away for eight passes", 3)
	p.pass()
	p.see(all[1])
	step("and for a ninth", 2)
	leave[1]()
	step("one is over", 1)
	p.see(all[2])
	step("one is back", 2)
}

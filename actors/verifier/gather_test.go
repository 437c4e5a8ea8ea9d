package verifier

import (
	"testing"
	"time"
)

func TestGatheringWaitsForThoseOnTheirWayBack(t *testing.T) {
	now := time.Unix(1, 0)
	a, b, drafting := draft("a", 0), draft("b", 0), draft("drafting", 2)
	dead, cancel := ticket("dead", 0)
	var g gathering
	step := func(what string, want bool) {
		t.Helper()
		if got := g.wait(now); got != want {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
	}
	step("nobody ran yet", false)
	g.runs([]Verify{a, b, drafting, {Ticket: dead}})
	g.rests(now)
	step("three without drafts are due", true)
	g.back(a.Ticket)
	cancel()
	step("one is still due", true)
	g.back(b.Ticket)
	step("the rest is dead or drafts", false)

	g.runs([]Verify{a, b})
	g.back(b.Ticket) // before the end of its pass is told
	g.rests(now)
	now = now.Add(patience - 1)
	step("still time", true)
	now = now.Add(1)
	step("time is up", false)
	g.runs([]Verify{b})
	g.rests(now)
	g.back(b.Ticket)
	step("one that was late is not waited for again", false)
}

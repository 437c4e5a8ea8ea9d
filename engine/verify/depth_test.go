package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/engine/sample"
)

// simulate runs rounds of n sequences with a cost law and an acceptance rate, and returns the depths of the last ones.
func simulate(d *Depths, n, rounds int, accept float64, cost func(depth int) int64) []int {
	rng := rand.New(rand.NewPCG(1, 2))
	var chosen []int
	for range rounds {
		depth := d.Choose(n, 3)
		d.Observe(n, depth, cost(depth))
		for range n {
			r := Result{Tokens: []sample.Token{{}}}
			for r.Accepted < depth && rng.Float64() < accept {
				r.Accepted++
				r.Tokens = append(r.Tokens, sample.Token{})
			}
			d.Accepted(depth, r)
		}
		chosen = append(chosen, depth)
	}
	return chosen[len(chosen)-100:]
}

func share(depths []int, want int) float64 {
	n := 0
	for _, d := range depths {
		if d == want {
			n++
		}
	}
	return float64(n) / float64(len(depths))
}

func TestDepthFollowsCost(t *testing.T) {
	flat := func(depth int) int64 { return 1000 + 100*int64(depth) }  // rows nearly free: memory-bound
	steep := func(depth int) int64 { return 1000 + 950*int64(depth) } // rows cost what they are: compute-bound
	cases := []struct {
		name   string
		accept float64
		cost   func(int) int64
		want   int
	}{
		{"cheap rows, good drafts", 0.9, flat, 3},
		{"cheap rows, useless drafts", 0.02, flat, 0},
		{"dear rows, fair drafts", 0.6, steep, 0},
		{"dear rows, perfect drafts", 0.999, steep, 3},
	}
	for _, c := range cases {
		if got := simulate(NewDepths(3), 4, 1200, c.accept, c.cost); share(got, c.want) < 0.8 {
			t.Errorf("%s: depth %d in %.2f of the last rounds, want nearly always", c.name, c.want, share(got, c.want))
		}
	}
}

// TestOneSpikeTeachesNothing: a slow first round must not be learned as what a depth costs.
func TestOneSpikeTeachesNothing(t *testing.T) {
	first := true
	got := simulate(NewDepths(3), 1, 1200, 0.9, func(depth int) int64 {
		if depth == 3 && first {
			first = false
			return 1_000_000
		}
		return 1000 + 100*int64(depth)
	})
	if share(got, 3) < 0.8 {
		t.Errorf("depth 3 in %.2f of the last rounds after one spike, want nearly always", share(got, 3))
	}
}

// TestChangedCostsAreNoticed: what was true at first is looked at again.
func TestChangedCostsAreNoticed(t *testing.T) {
	d := NewDepths(3)
	simulate(d, 2, 600, 0.7, func(depth int) int64 { return 1000 + 10*int64(depth) })
	got := simulate(d, 2, 2400, 0.7, func(depth int) int64 { return 1000 + 2000*int64(depth) })
	if share(got, 0) < 0.8 {
		t.Errorf("depth 0 in %.2f of the last rounds after drafts became dear, want nearly always", share(got, 0))
	}
}

// TestFirstRoundsAreDeep: before anything is known drafts are made as asked.
func TestFirstRoundsAreDeep(t *testing.T) {
	for n := 1; n <= 8; n++ {
		d := NewDepths(3)
		for round := range every - 1 {
			if got := d.Choose(n, 3); got != 3 {
				t.Fatalf("width %d round %d: got depth %d, want 3", n, round, got)
			}
			d.Observe(n, 3, 1000)
		}
	}
}

func TestDepthStaysInBounds(t *testing.T) {
	d := NewDepths(7)
	for n := 1; n < 70; n++ {
		for limit := -1; limit < 9; limit++ {
			if got := d.Choose(n, limit); got < 0 || got > max(limit, 0) || got > 7 {
				t.Fatalf("Choose(%d, %d): got %d", n, limit, got)
			}
		}
	}
}

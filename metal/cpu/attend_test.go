package cpu

import (
	"slices"
	"testing"
)

func TestRunsOf(t *testing.T) {
	for _, c := range []struct {
		name          string
		ids           []int32
		t, ratio, top int
		want          []run
	}{
		{"dense", nil, 9, 4, 2, []run{{0, 10}}},
		{"dense long", nil, maxRun + 4, 4, 1 << 20, []run{{0, maxRun}, {maxRun, 5}}},
		{"blocks and tail", []int32{0, 2}, 13, 4, 2, []run{{0, 4}, {8, 6}}},
		{"no tail", []int32{0, 1}, 11, 4, 2, []run{{0, 8}}},
		{"apart", []int32{1, 3}, 21, 4, 2, []run{{4, 4}, {12, 4}, {20, 2}}},
	} {
		got, total := runsOf(nil, c.ids, c.t, c.ratio, c.top)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		sum := 0
		for _, r := range c.want {
			sum += r.n
		}
		if total != sum {
			t.Errorf("%s: got %d tokens, want %d", c.name, total, sum)
		}
	}
}

// TestRunsOfBad: ids that no Select wrote are a broken invariant, never a read outside the cache.
func TestRunsOfBad(t *testing.T) {
	for _, ids := range [][]int32{{0, 5}, {-1, 2}, {2, 2}, {3, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("blocks %v of 5: got no panic", ids)
				}
			}()
			runsOf(nil, ids, 21, 4, 2)
		}()
	}
}

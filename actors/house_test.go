package actors_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/actors/housetest"
)

// nanoPack is the embedded pack, opened by path.
const nanoPack = "../nano/pack"

// golden is the part of the golden files that these tests read (engine/model/testdata/nano-q8, made by transformers).
type golden struct {
	Prompt []int32 `json:"prompt_ids"`
	Greedy []int32 `json:"greedy_64"`
}

func goldens(t testing.TB) map[string]golden {
	t.Helper()
	raw, err := os.ReadFile("../engine/model/testdata/nano-q8/greedy.json")
	if err != nil {
		t.Fatal(err)
	}
	var g map[string]golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGreedyGoldens asks the whole house for the reference continuations: drafted, verified, both lanes in force.
func TestGreedyGoldens(t *testing.T) {
	b := housetest.Open(t, nanoPack, 2)
	c := housetest.Config(b)
	c.StopIDs = nil // the goldens go on past stop ids
	s := housetest.Start(t, c)
	for name, g := range goldens(t) {
		a := housetest.Run(t.Context(), s, housetest.Request(g.Prompt, len(g.Greedy)), nil)
		if a.Err != nil {
			t.Fatalf("%s: %v", name, a.Err)
		}
		if !slices.Equal(a.IDs(), g.Greedy) {
			t.Errorf("%s: got %v\nwant %v", name, a.IDs(), g.Greedy)
		}
		t.Logf("%s: %d rounds, %d accepted, %d rejected, lanes %v, use %v, decode %v", name, a.Report.Rounds,
			a.Report.AcceptedDrafts, a.Report.RejectedDrafts, a.Report.Lanes, a.Report.LaneUse, a.Report.Decode)
	}
}

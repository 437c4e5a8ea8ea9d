package actors_test

import (
	"encoding/json"
	"testing"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/chat"
)

// chatPrompt renders a question as the pack's template does.
func chatPrompt(t testing.TB, b *bundle.Bundle, question string) []int32 {
	t.Helper()
	message, err := json.Marshal(map[string]string{"role": "user", "content": question})
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.Template.Render(chat.Input{Messages: []json.RawMessage{message}, AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := b.Tokenizer.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestLaneEngagement: a lane that is on makes its windows off the verify path, one that is off makes none.
func TestLaneEngagement(t *testing.T) {
	b := housetest.Open(t, nanoPack, 2)
	c := housetest.Config(b)
	c.StopIDs = nil
	g := goldens(t)["chat_tool"]
	for _, on := range []lanes.Lane{lanes.PLE, lanes.QSA} {
		s := housetest.Start(t, c)
		for _, l := range lanes.All() {
			if _, err := s.SetLane(t.Context(), l.String(), l == on); err != nil {
				t.Fatal(err)
			}
		}
		a := housetest.Run(t.Context(), s, housetest.Request(g.Prompt, 30), nil)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, st := range s.Lanes() {
			used := a.Report.LaneUse[st.Name]
			if st.Name == on.String() {
				if st.Windows < int64(a.Report.Rounds) || st.Hits+st.Misses == 0 || st.FailOver != 0 {
					t.Errorf("%s on: got %+v, want at least %d windows, some hits or misses, no fail-over", st.Name, st, a.Report.Rounds)
				}
				if used.Windows != a.Report.Rounds+3 { // a prompt of 279 tokens is two chunks, and a cut where its last turn begins
					t.Errorf("%s on: the request counts %d windows, want %d rounds and 3 chunks", st.Name, used.Windows, a.Report.Rounds)
				}
				continue
			}
			if st.Windows != 0 || st.Hits != 0 || st.Misses != 0 || used.Windows != 0 {
				t.Errorf("%s off: got %+v, used %+v, want no work", st.Name, st, used)
			}
		}
	}
}

// TestDraftingIsRight: on the model's own greedy chat answers the first draft is accepted three times in four. A stale or
// mis-primed MTP state still gives right answers, and fails here.
func TestDraftingIsRight(t *testing.T) {
	b := housetest.Open(t, nanoPack, 2)
	s := housetest.Start(t, housetest.Config(b))
	for _, q := range []string{"What does strings.TrimSpace do?", "How do I read a file in Go?", "What is the signature of strings.Split?",
		"Which package is ReadAll in?", "What does sort.Slice do?", "What is bytes.Buffer?", "What does os.Getenv return?"} {
		a := housetest.Run(t.Context(), s, housetest.Request(chatPrompt(t, b, q), 96), nil)
		if a.Err != nil {
			t.Fatalf("%s: %v", q, a.Err)
		}
		t.Logf("%s %d tokens in %d rounds", q, a.Report.CompletionTokens, a.Report.Rounds)
	}
	st := s.Status().Drafts
	if st.Judged[0] < 50 {
		t.Fatalf("only %d drafts judged: the test proves nothing", st.Judged[0])
	}
	for d := range 3 {
		t.Logf("depth %d: accepted %d of %d judged, %d drafted", d+1, st.Accepted[d], st.Judged[d], st.Drafted[d])
	}
	if got := st.Rate(0); got < 0.75 {
		t.Errorf("first draft accepted: got %.3f of judged, want at least 0.75", got)
	}
}

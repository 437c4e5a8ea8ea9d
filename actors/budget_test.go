package actors_test

import (
	"slices"
	"testing"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/verify"
)

// TestThinkingBudget: reasoning ends where the budget says, with the same tokens at any depth and temperature and after a crash, and
// the answer goes on.
func TestThinkingBudget(t *testing.T) {
	b := housetest.Open(t, nanoPack, 2)
	end, err := b.Tokenizer.Encode("\n</think>\n\n")
	if err != nil || len(end) != 3 {
		t.Fatal(end, err)
	}
	const tokens = 12
	s := housetest.Start(t, housetest.Config(b))
	ask := func(change func(r *intake.Request), each func(intake.Event)) housetest.Answer {
		t.Helper()
		r := housetest.Request(goldens(t)["chat_think"].Prompt, 60)
		r.Parse = chat.ParserOptions{InThink: true}
		r.Budget = &grammar.Budget{Tokens: tokens, End: end, Close: end[1]}
		change(r)
		a := housetest.Run(t.Context(), s, r, each)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		return a
	}
	free := ask(func(r *intake.Request) { r.Budget = nil }, nil)
	if free.Report.ReasoningTokens <= tokens {
		t.Fatalf("it thinks for %d tokens only: nothing to cut", free.Report.ReasoningTokens)
	}
	for _, temperature := range []float64{0, 1} {
		var want []int32
		for _, depth := range []int{0, 3, 7} {
			kills := 0
			a := ask(func(r *intake.Request) { r.Depth, r.Sampling.Temperature = depth, temperature }, func(e intake.Event) {
				if e.Kind == intake.Delta && kills < 1 {
					kills++
					if err := s.Fault("verifier"); err != nil {
						t.Error(err)
					}
				}
			})
			if want == nil {
				want = a.IDs()
			}
			if !slices.Equal(a.IDs(), want) {
				t.Errorf("temperature %v, depth %d: got %v, want %v as without drafts", temperature, depth, a.IDs(), want)
			}
			if a.Report.ReasoningTokens > tokens || len(want) <= tokens {
				t.Errorf("temperature %v, depth %d: %d tokens of reasoning of %d", temperature, depth, a.Report.ReasoningTokens, len(want))
			}
		}
		if temperature == 0 && (!slices.Equal(want[tokens-3:tokens], end) || !slices.Equal(want[:tokens-3], free.IDs()[:tokens-3])) {
			t.Errorf("got %v, want the first %d of %v and %v", want, tokens-3, free.IDs(), end)
		}
	}
	a := ask(func(r *intake.Request) { r.Rule, r.Sampling.Temperature = verify.Residual, 1 }, nil)
	if a.Report.ReasoningTokens > tokens {
		t.Errorf("rule residual: %d tokens of reasoning, want at most %d", a.Report.ReasoningTokens, tokens)
	}
}

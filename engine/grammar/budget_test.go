package grammar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// budget is one of so many tokens with nano's ids.
func budget(t *testing.T, tokens int) *Budget {
	t.Helper()
	end, err := nano().Encode("\n</think>\n\n")
	if err != nil || len(end) != 3 {
		t.Fatal(end, err)
	}
	return &Budget{Tokens: tokens, End: end, Close: end[1]}
}

// Alone a budget takes any id until reasoning has its tokens, forces the end of it, and takes any id again. Each row's mask is that of
// the place after the drafts before it.
func TestBudgetAlone(t *testing.T) {
	b := budget(t, 8)
	word := encode(t, "the")[0]
	s := NewSession(nil, b)
	drafts := slices.Concat(slices.Repeat([]int32{word}, 5), b.End, []int32{word, b.Close})
	got := rows(len(drafts) + 1)
	s.Allow(drafts, got)
	for j, mask := range got {
		if forced := j >= 5 && j < 8; !forced && mask != nil || forced && !slices.Equal(members(mask), []int32{b.End[j-5]}) {
			t.Errorf("row %d: got %v", j, members(mask))
		}
	}
	if err := s.Commit(drafts[:5]...); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(word); !errors.Is(err, ErrToken) {
		t.Errorf("beyond the budget: got %v, want ErrToken", err)
	}
	if m := s.Matcher(); m.Any() || !m.Accept(b.End[0]) || m.Any() || !m.Accept(b.End[1]) || !m.Accept(b.End[2]) || !m.Any() {
		t.Error("the end is not forced, or goes on being")
	}
	again, err := Replay(nil, b, drafts)
	if err != nil || !again.Matcher().Any() || !again.Done() {
		t.Errorf("replayed: %v", err)
	}
	// Reasoning that ends by itself uses no more of the budget.
	s = NewSession(nil, b)
	if err := s.Commit(slices.Concat([]int32{word, b.Close}, slices.Repeat([]int32{word}, 20))...); err != nil {
		t.Errorf("ended by itself: %v", err)
	}
	wrong := rows(3)
	NewSession(nil, budget(t, 4)).Allow([]int32{word, word}, wrong) // the second draft is not allowed
	if wrong[0] != nil || len(members(wrong[1])) != 1 || wrong[2] != nil {
		t.Errorf("after a draft that is not allowed: %v", wrong)
	}
}

// Before a grammar the budget holds whatever is written, characters that are cut included, and the document behind it is whole.
func TestBudgetBeforeAGrammar(t *testing.T) {
	g, err := JSONObject(Options{MaxDepth: 2})
	if err != nil {
		t.Fatal(err)
	}
	bound, b := bind(t, g.Thinking()), budget(t, 12)
	forced := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		s, mask := NewSession(bound, b), rows(1)
		var ids []int32
		for len(ids) < 40 && !slices.Contains(ids, b.Close) {
			s.Allow(nil, mask)
			may := members(mask[0])
			id := may[r.IntN(len(may))]
			if err := s.Commit(id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		at := slices.Index(ids, b.Close)
		if at < 0 || at >= b.Tokens+3 { // a character may have to end first
			t.Errorf("seed %d: reasoning of %v", seed, ids)
			continue
		}
		if at > b.Tokens-len(b.End) {
			forced++
		}
		if err := s.Commit(encode(t, "\n\n")[0], encode(t, "{")[0], encode(t, "}")[0], nanoStop); err != nil || !s.Done() {
			t.Errorf("seed %d: the document: %v", seed, err)
		}
	}
	if forced < 20 {
		t.Errorf("the end was forced %d times of 40 only", forced)
	}
}

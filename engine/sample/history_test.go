package sample

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// state is a history's meaning: what each id's penalties see.
func state(h *History) map[int32]entry {
	m := map[int32]entry{}
	for _, e := range h.entries {
		m[e.id] = e
	}
	return m
}

// TestHistoryPushPop: after any pushes and pops the history equals one that was built from the remaining tokens, and it keeps no dead entries.
func TestHistoryPushPop(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, p := range []Params{
		{TopP: 1, Repetition: 1.2, Presence: 1},
		{TopP: 1, Repetition: 1, Frequency: 1},
		{TopP: 1, Repetition: 0.9},
		{TopP: 1, Repetition: 1},
	} {
		prompt := []int32{1, 1, 2, 7}
		h := NewHistory(prompt, p)
		var out []int32
		for step := range 3000 {
			if len(out) > 0 && r.IntN(2) == 0 {
				at := len(out) - 1
				if r.IntN(5) == 0 { // not the newest
					at = r.IntN(len(out))
				}
				h.Pop(out[at])
				out = append(out[:at:at], out[at+1:]...)
			} else {
				id := int32(r.IntN(12))
				out = append(out, id)
				h.Push(id)
			}
			want := NewHistory(prompt, p)
			for _, id := range out {
				want.Push(id)
			}
			if !maps.Equal(state(h), state(want)) || len(h.at) != len(h.entries) {
				t.Fatalf("%+v, step %d: history %v, want %v", p, step, state(h), state(want))
			}
			if p.Penalised() && h.Count(3) != want.Count(3) {
				t.Fatalf("count %d, want %d", h.Count(3), want.Count(3))
			}
		}
	}
}

func TestHistoryCloneIsIndependent(t *testing.T) {
	p := Params{TopP: 1, Repetition: 1, Presence: 1}
	h := NewHistory(nil, p)
	h.Push(1)
	c := h.Clone()
	c.Push(1)
	c.Push(2)
	if h.Count(1) != 1 || h.Count(2) != 0 || c.Count(1) != 2 || c.Count(2) != 1 {
		t.Errorf("original %v, clone %v", state(h), state(c))
	}
}

func TestHistoryWithoutPenaltiesHoldsNothing(t *testing.T) {
	h := NewHistory(make([]int32, 1000), Defaults())
	h.Push(1)
	h.Pop(2) // nothing is tracked, so nothing can be wrong
	if h.Distinct() != 0 || h.at != nil {
		t.Errorf("%d entries, want none", h.Distinct())
	}
}

func TestHistoryPopOfWhatIsNotThere(t *testing.T) {
	h := NewHistory([]int32{5}, Params{TopP: 1, Repetition: 2})
	defer func() {
		if recover() == nil {
			t.Error("popping a prompt token did not panic")
		}
	}()
	h.Pop(5)
}

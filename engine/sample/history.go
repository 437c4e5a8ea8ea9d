package sample

import (
	"fmt"
	"maps"
	"slices"
)

// History counts the tokens that penalties look at: which ids the prompt holds, and how often each id is in the output. It is exact under Push and
// Pop, so that rows of drafts can be pushed and taken back. When no penalty is on it stores nothing and costs nothing.
//
// One goroutine at a time; Clone for another.
type History struct {
	prompt, output bool // what is tracked
	at             map[int32]int32
	entries        []entry
}

// entry is one distinct id; it exists while the prompt holds the id or its output count is above 0.
type entry struct {
	id     int32
	prompt bool
	count  int32
}

// NewHistory starts a request's history with its prompt and no output. prompt is not kept.
func NewHistory(prompt []int32, p Params) *History {
	h := &History{prompt: p.Repetition != 1, output: p.Penalised()}
	if h.output {
		h.at = make(map[int32]int32)
	}
	if h.prompt {
		for _, id := range prompt {
			h.slot(id).prompt = true
		}
	}
	return h
}

// slot returns id's entry, made if missing. The pointer is valid until the next call.
func (h *History) slot(id int32) *entry {
	i, ok := h.at[id]
	if !ok {
		i = int32(len(h.entries))
		h.at[id] = i
		h.entries = append(h.entries, entry{id: id})
	}
	return &h.entries[i]
}

// Push appends id to the output.
func (h *History) Push(id int32) {
	if h.output {
		h.slot(id).count++
	}
}

// Pop takes id back from the output. It panics if the output does not hold id: the caller lost track of its drafts.
func (h *History) Pop(id int32) {
	if !h.output {
		return
	}
	i, ok := h.at[id]
	if !ok || h.entries[i].count == 0 {
		panic(fmt.Sprintf("sample: history: pop of token %d, which the output does not hold", id))
	}
	e := &h.entries[i]
	e.count--
	if e.count > 0 || e.prompt {
		return
	}
	// The last entry takes the hole's place. Order does not matter: each id is penalised on its own.
	last := len(h.entries) - 1
	delete(h.at, id)
	if int(i) != last {
		h.entries[i] = h.entries[last]
		h.at[h.entries[i].id] = i
	}
	h.entries = h.entries[:last]
}

// Count returns how often the output holds id; 0 when no penalty is on.
func (h *History) Count(id int32) int {
	if i, ok := h.at[id]; ok {
		return int(h.entries[i].count)
	}
	return 0
}

// Distinct returns the number of distinct ids that are tracked.
func (h *History) Distinct() int { return len(h.entries) }

// Clone returns an independent copy. Its cost is that of the distinct ids.
func (h *History) Clone() *History {
	return &History{prompt: h.prompt, output: h.output, at: maps.Clone(h.at), entries: slices.Clone(h.entries)}
}

// serves reports whether h tracks what p's penalties need.
func (h *History) serves(p *Params) bool {
	if !p.Penalised() {
		return true
	}
	return h != nil && h.output && (h.prompt || p.Repetition == 1)
}

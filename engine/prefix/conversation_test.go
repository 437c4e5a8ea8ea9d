package prefix_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// house serves conversations on one model with a tree, as the actors do, without drafting.
type house struct {
	t      *testing.T
	m      *model.Model
	pass   *model.Pass
	tree   *prefix.Tree
	policy prefix.Policy
	chunk  int
}

// turn answers a prompt with so many greedy tokens. It returns the answer, its logits, the final state, and how many tokens
// were restored.
func (h *house) turn(prompt []int32, answer int, warm bool) (out []int32, logits [][]float32, digest map[string][32]byte, reused int) {
	h.t.Helper()
	r := &modeltest.Runner{T: h.t, Model: h.m, Pass: h.pass}
	st := h.pass.Stream()
	var last *prefix.Handle
	if warm {
		last, reused = h.tree.Lookup(prompt, prefix.Want{Prompt: len(prompt)})
	}
	var err error
	if last != nil {
		r.Seq, _, err = state.Restore(st, h.m.Shape, h.m.Device, last.Snapshot(), state.RestoreOptions{Positions: len(prompt) + answer})
	} else {
		r.Seq, err = h.m.NewSequence()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Seq.Release()
	r.Ledger = slices.Clone(prompt[:reused])
	commit := func(rows []int32, ended bool) []float32 {
		from := r.Seq.Len
		seg := r.Segment(rows, false, model.LogitsLast)
		r.Run(seg)
		logits := modeltest.Logits(h.t, h.m, h.pass, seg)[0]
		r.Commit(h.pass, seg, len(rows))
		if err := h.pass.Settle(seg); err != nil {
			h.t.Fatal(err)
		}
		if warm && h.policy.Due(from, r.Seq.Len, len(prompt), ended) {
			last = h.keep(st, r, len(prompt), last)
		}
		return logits
	}
	var row []float32
	for at := reused; at < len(prompt); {
		to := min((at/h.chunk+1)*h.chunk, len(prompt))
		row = commit(prompt[at:to], false)
		at = to
	}
	for i := range answer {
		logits = append(logits, row)
		id := modeltest.ArgMax(row)
		out = append(out, id)
		row = commit([]int32{id}, i+1 == answer)
	}
	logits = append(logits, row)
	if digest, err = r.Seq.Digest(st); err != nil {
		h.t.Fatal(err)
	}
	last.Release()
	return out, logits, digest, reused
}

// keep takes a snapshot on top of the last one and returns the handle to go on with.
func (h *house) keep(st metal.Stream, r *modeltest.Runner, prompt int, last *prefix.Handle) *prefix.Handle {
	next := h.tree.At(r.Ledger, prefix.Want{Prompt: prompt})
	if next == nil {
		s, err := state.Take(st, r.Seq, state.TakeOptions{Parent: last.Snapshot(), Prompt: prompt, Account: h.tree})
		if err == nil {
			next, err = h.tree.Insert(r.Ledger, s)
		}
		if errors.Is(err, metal.ErrMemory) {
			return last
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	last.Release()
	return next
}

// TestConversations plays random conversations, which go on, fork, edit early messages and are compacted, warm and cold:
// answers, logits and states have the same bits, with room for all snapshots and with room for few.
func TestConversations(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() packtest.Geometry
	}{{"tiny", packtest.Tiny}, {"odd", packtest.Odd}} {
		for _, limit := range []int64{1 << 30, 900 << 10} {
			t.Run(fmt.Sprintf("%s-%d", c.name, limit), func(t *testing.T) {
				g := c.make()
				dev := modeltest.CPU(t, 1)
				m := modeltest.Load(t, packtest.Open(t, g, 71, packtest.Options{}), dev)
				r := modeltest.NewRunner(t, m, 32)
				tree := prefix.New(prefix.Options{Pack: "tiny", Device: dev.Info(), Limit: limit})
				t.Cleanup(func() { // before the device is asked whether all is free
					tree.Close()
					if got := tree.Stats().Bytes; got != 0 {
						t.Errorf("closed: got %d bytes booked, want 0", got)
					}
				})
				h := &house{t: t, m: m, pass: r.Pass, tree: tree, policy: prefix.Policy{Every: 32, Decode: 7}, chunk: 16}
				rng := rand.New(rand.NewPCG(7, uint64(limit)))
				talks := [][]int32{nil}
				const turns = 24
				hits := 0
				for turn := range turns {
					talk := slices.Clone(talks[rng.IntN(len(talks))])
					if n := len(talk); n > 0 {
						switch rng.IntN(5) {
						case 0:
							talk[rng.IntN(n)]++ // an early message is edited
							for i, id := range talk {
								talk[i] = id % int32(g.Vocab)
							}
						case 1:
							talk = talk[:rng.IntN(n)] // a fork
						case 2:
							talk = append([]int32{9, 9, 9}, talk[rng.IntN(n):]...) // compaction
						}
					}
					for range 1 + rng.IntN(30) {
						talk = append(talk, rng.Int32N(int32(g.Vocab)))
					}
					if len(talk) > 250 {
						talk = talk[:50]
					}
					n := 1 + rng.IntN(9)
					got, gotLogits, gotState, reused := h.turn(talk, n, true)
					want, wantLogits, wantState, _ := h.turn(talk, n, false)
					what := fmt.Sprintf("turn %d, %d of %d tokens restored", turn, reused, len(talk))
					if !slices.Equal(got, want) {
						t.Fatalf("%s: got answer %v, want %v", what, got, want)
					}
					for i := range wantLogits {
						if !slices.Equal(gotLogits[i], wantLogits[i]) {
							t.Fatalf("%s: logits of row %d differ by up to %.3g", what, i, modeltest.MaxDiff(gotLogits[i], wantLogits[i]))
						}
					}
					if !maps.Equal(gotState, wantState) {
						t.Fatalf("%s: states differ", what)
					}
					if reused > 0 {
						hits++
					}
					talks = append(talks, append(talk, got...))
					if s := tree.Stats(); s.Bytes > s.Limit || s.InUse != 0 {
						t.Fatalf("%s: got %+v", what, s)
					}
				}
				s := tree.Stats()
				if hits < turns/6 || int64(hits) != s.Hits {
					t.Errorf("got %d hits, want at least %d of %d turns, and %d counted", hits, turns/6, turns, s.Hits)
				}
				if few := limit < 1<<20; few != (s.Evictions > 0) {
					t.Errorf("got %d evictions under %d bytes", s.Evictions, limit)
				}
				t.Logf("%+v", s)
			})
		}
	}
}

// TestFollowUpHitsTheWholeTurn: the second turn of a conversation restores all of the first.
func TestFollowUpHitsTheWholeTurn(t *testing.T) {
	g := packtest.Tiny()
	dev := modeltest.CPU(t, 1)
	m := modeltest.Load(t, packtest.Open(t, g, 72, packtest.Options{}), dev)
	r := modeltest.NewRunner(t, m, 32)
	tree := prefix.New(prefix.Options{Device: dev.Info(), Limit: 1 << 30})
	t.Cleanup(tree.Close)
	h := &house{t: t, m: m, pass: r.Pass, tree: tree, policy: prefix.Policy{Every: 32}, chunk: 16}
	prompt := make([]int32, 90)
	for i := range prompt {
		prompt[i] = int32(i)
	}
	answer, _, _, reused := h.turn(prompt, 6, true)
	if reused != 0 {
		t.Fatalf("first turn: got %d tokens restored, want 0", reused)
	}
	for _, c := range []struct {
		name string
		ask  []int32
		want int
	}{
		{"next turn", append(slices.Concat(prompt, answer), 1, 2, 3), 96},
		{"answer rendered differently", append(slices.Clone(prompt), 5, 5, 5), 90},
		{"the same again", prompt, 64},
		{"a message edited", append(slices.Clone(prompt[:70]), 1, 1, 1), 64},
		{"the first message edited", append(slices.Clone(prompt[:20]), 1, 1, 1), 0},
	} {
		if _, _, _, got := h.turn(c.ask, 1, true); got != c.want {
			t.Errorf("%s: got %d tokens restored, want %d", c.name, got, c.want)
		}
	}
}

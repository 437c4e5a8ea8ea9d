package state_test

import (
	"fmt"
	"testing"

	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/state"
)

// goOn drives a talk on from where it is: a round whose drafts are rejected in part, a row alone, a chunk, and a draft given
// up. It returns all logits, of the head and the trunk, and ends with everything but the last rows primed.
func goOn(k *talk, ids, wrong []int32) [][]float32 {
	k.t.Helper()
	at := k.seq.Len
	var out [][]float32
	out = append(out, k.draft(ids[at], ids[at+1], wrong[0], wrong[1])...)
	out = append(out, k.run([]int32{ids[at], ids[at+1], wrong[0], wrong[1]}, 2, true)...)
	at += 2
	out = append(out, k.draft(ids[at], wrong[2], wrong[3])...)
	out = append(out, k.run([]int32{ids[at], wrong[2], wrong[3]}, 1, true)...)
	at++
	k.prime(ids[at])
	out = append(out, k.run(ids[at:at+9], 9, false)...)
	out = append(out, k.draft(ids[at+9], wrong[4])...)
	return out
}

// TestRestoredSequenceGoesOn takes a snapshot at every offset of a block, below, across and above the QSA budget, restores
// it and lets the original, the restored and a cold sequence go on: state, logits and drafts have the same bits, through
// rejected drafts and prefill.
func TestRestoredSequenceGoesOn(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			dev := modeltest.CPU(t, 1)
			e := newEngine(t, packtest.Open(t, g, 61, packtest.Options{WithMTP: true}), dev, 64)
			var lengths []int
			for _, base := range []int{1, g.IndexBudget - 2, g.IndexBudget + g.IndexRatio, 3 * g.IndexBudget} {
				for i := range g.IndexRatio {
					lengths = append(lengths, base+i)
				}
			}
			ids, wrong := randomTokens(g.Vocab, 3, 4*g.IndexBudget+20), randomTokens(g.Vocab, 4, 5)
			for _, n := range lengths {
				what := fmt.Sprintf("%d positions", n)
				original, cold := e.start(), e.start()
				original.feed(ids[:n], 16)
				cold.feed(ids[:n], 64)
				s := original.take(nil, nil)
				if !s.Drafts() || s.Len != n || s.Prompt != n {
					t.Fatalf("%s: got %d positions, %d of them prompt, drafts %v", what, s.Len, s.Prompt, s.Drafts())
				}
				warm := e.restore(s, ids)
				for _, k := range []*talk{original, cold, warm} {
					k.prime(ids[n]) // the chunks left different rows to catch up with
				}
				want := original.digest()
				sameState(t, what+", restored", warm.digest(), want)
				sameState(t, what+", cold", cold.digest(), want)

				logits := goOn(original, ids, wrong)
				sameLogits(t, what+", restored", goOn(warm, ids, wrong), logits)
				sameLogits(t, what+", cold", goOn(cold, ids, wrong), logits)
				want = original.digest()
				sameState(t, what+", restored and gone on", warm.digest(), want)
				sameState(t, what+", cold and gone on", cold.digest(), want)

				// The snapshot has not changed.
				again := e.restore(s, ids)
				again.prime(ids[n])
				sameLogits(t, what+", restored again", goOn(again, ids, wrong), logits)
				for _, k := range []*talk{original, cold, warm, again} {
					k.end()
				}
				s.Release()
			}
		})
	}
}

// TestSnapshotsOnTopOfEachOther takes snapshots along one prefix at odd places, each on top of the one before, releases all
// but one in turn, and restores that.
func TestSnapshotsOnTopOfEachOther(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			dev := modeltest.CPU(t, 1)
			e := newEngine(t, packtest.Open(t, g, 62, packtest.Options{WithMTP: true}), dev, 64)
			ids, wrong := randomTokens(g.Vocab, 5, 4*g.IndexBudget+20), randomTokens(g.Vocab, 6, 5)
			lengths := []int{1, 2, 7, g.IndexBudget - 1, g.IndexBudget, g.IndexBudget + 6, g.IndexBudget + 7, 3 * g.IndexBudget}
			for keep := range lengths {
				original := e.start()
				var all []*state.Snapshot
				var parent *state.Snapshot
				from := 0
				for i, n := range lengths[:keep+1] {
					original.feed(ids[from:n], 16)
					from = n
					s := original.take(parent, nil)
					if i%3 == 2 { // a branch off an older one
						s.Release()
						s = original.take(all[i-2], nil)
					}
					all = append(all, s)
					parent = s
				}
				for _, s := range all[:keep] {
					s.Release()
				}
				what := fmt.Sprintf("%d positions", lengths[keep])
				warm := e.restore(all[keep], ids)
				warm.prime(ids[from])
				original.prime(ids[from])
				sameState(t, what, warm.digest(), original.digest())
				sameLogits(t, what, goOn(warm, ids, wrong), goOn(original, ids, wrong))
				warm.end()
				original.end()
				all[keep].Release()
			}
		})
	}
}

// TestSnapshotBetweenRounds takes snapshots in the middle of decoding, when the drafter is a round behind, from a restored
// sequence on top of the snapshot it came from.
func TestSnapshotBetweenRounds(t *testing.T) {
	g := packtest.Tiny()
	dev := modeltest.CPU(t, 1)
	e := newEngine(t, packtest.Open(t, g, 63, packtest.Options{WithMTP: true}), dev, 64)
	ids, wrong := randomTokens(g.Vocab, 7, 200), randomTokens(g.Vocab, 8, 5)
	for n := 30; n < 38; n++ {
		original := e.start()
		original.feed(ids[:n], 16)
		first := original.take(nil, nil)
		k := e.restore(first, ids)
		for round := range 4 {
			what := fmt.Sprintf("from %d, round %d", n, round)
			at := k.seq.Len
			for _, k := range []*talk{original, k} {
				k.draft(ids[at], ids[at+1], ids[at+2], wrong[round])
				k.run([]int32{ids[at], ids[at+1], ids[at+2], wrong[round]}, 1+(n+round)%3, true)
			}
			s := k.take(first, nil)
			if s.Drafted >= s.Len-1 && s.Len > at+1 {
				t.Fatalf("%s: got %d rows of %d drafted, want the drafter behind", what, s.Drafted, s.Len)
			}
			warm := e.restore(s, ids)
			sameState(t, what, warm.digest(), original.digest())
			first.Release()
			first = s
			k.end()
			k = warm
		}
		sameLogits(t, "after the rounds", goOn(k, ids, wrong), goOn(original, ids, wrong))
		k.end()
		original.end()
		first.Release()
	}
}

// TestHalves takes the trunk's half, lets trunk and drafter go on, and then the drafter's half.
func TestHalves(t *testing.T) {
	g := packtest.Odd()
	dev := modeltest.CPU(t, 1)
	e := newEngine(t, packtest.Open(t, g, 64, packtest.Options{WithMTP: true}), dev, 64)
	ids, wrong := randomTokens(g.Vocab, 9, 300), randomTokens(g.Vocab, 10, 5)
	var parent *state.Snapshot
	k := e.start()
	for n := 16; n <= 160; n += 48 {
		k.feed(ids[k.seq.Len:n], 16)
		p, err := state.Begin(k.st, k.seq, state.TakeOptions{Parent: parent, Prompt: n, Kept: k.kept})
		if err != nil {
			t.Fatal(err)
		}
		k.feed(ids[n:n+16], 16) // primes the rows of the chunk
		if n != 64 {
			k.feed(ids[n+16:n+20], 16) // and then more
		}
		s, err := p.Finish(k.st, k.seq.MTP)
		if err != nil {
			t.Fatal(err)
		}
		p.Discard() // does nothing
		if parent != nil {
			parent.Release()
		}
		parent = s
		warm, cold := e.restore(s, ids), e.start()
		cold.feed(ids[:n], 64)
		warm.prime(ids[n])
		cold.prime(ids[n])
		what := fmt.Sprintf("%d positions", n)
		sameState(t, what, warm.digest(), cold.digest())
		sameLogits(t, what, goOn(warm, ids, wrong), goOn(cold, ids, wrong))
		warm.end()
		cold.end()
	}
	parent.Release()
	k.end()
}

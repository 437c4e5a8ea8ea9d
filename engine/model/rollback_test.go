package model_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/state"
)

// digest settles all banks and hashes the live state.
func digest(t *testing.T, r *modeltest.Runner) map[string][32]byte {
	t.Helper()
	if err := r.Pass.Settle(&model.Segment{Seq: r.Seq}); err != nil {
		t.Fatal(err)
	}
	d, err := r.Seq.Digest(r.Pass.Stream())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sameState(t *testing.T, what string, got, want map[string][32]byte) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for part := range want {
		if got[part] != want[part] {
			t.Errorf("%s: %s differs", what, part)
		}
	}
	t.FailNow()
}

// fresh is an empty sequence that the caller releases.
func fresh(t *testing.T, m *model.Model) *state.Sequence {
	t.Helper()
	s, err := m.NewSequence()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRollback drafts m rows at every offset of a block, below, across and above the QSA budget, keeps k of them, and asks
// for exactly the state of a sequence that was only ever given the kept tokens; then both go on alike.
func TestRollback(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m := modeltest.Load(t, packtest.Open(t, g, 21, packtest.Options{}), modeltest.CPU(t, 1))
			bases := []int{1, g.IndexBudget - g.IndexRatio, g.IndexBudget + 3*g.IndexRatio}
			last := bases[len(bases)-1] + g.IndexRatio + 8
			ids, wrong := tokens(g, 7, last+2), tokens(g, 8, last+2)

			// The plain sequence, one token at a time: its state at every length, and the logits of every row.
			plain := modeltest.NewRunner(t, m, 64)
			states := []map[string][32]byte{digest(t, plain)}
			var logits [][]float32
			for i := range ids {
				logits = append(logits, plain.Feed(ids[i:i+1], 1, model.LogitsAll)...)
				states = append(states, digest(t, plain))
			}
			for _, base := range bases {
				for at := base; at < base+g.IndexRatio; at++ {
					for rows := 1; rows <= 8; rows++ {
						for keep := 1; keep <= rows; keep++ {
							what := fmt.Sprintf("%d rows at %d, %d kept", rows, at, keep)
							r := &modeltest.Runner{T: t, Model: m, Pass: plain.Pass, Seq: fresh(t, m)}
							r.Feed(ids[:at], 64, model.LogitsNone)
							draft := append(append([]int32(nil), ids[at:at+keep]...), wrong[at+keep:at+rows]...)
							seg := r.Segment(draft, true, model.LogitsAll)
							r.Run(seg)
							same(t, what, modeltest.Logits(t, m, r.Pass, seg)[:keep], logits[at:at+keep])
							r.Commit(r.Pass, seg, keep)
							sameState(t, what, digest(t, r), states[at+keep])

							// Another draft, given up, leaves no trace, and the next real row is the plain one.
							bad := r.Segment(wrong[:rows], true, model.LogitsLast)
							r.Run(bad)
							r.Pass.Abort(bad)
							sameState(t, what+", then a draft aborted", digest(t, r), states[at+keep])
							next := at + keep
							same(t, what+", then one more", r.Feed(ids[next:next+1], 64, model.LogitsAll), logits[next:next+1])
							sameState(t, what+", then one more", digest(t, r), states[next+1])
							r.Seq.Release()
						}
					}
				}
			}
		})
	}
}

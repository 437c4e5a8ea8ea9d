package mtp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/qsa"
)

// digest settles the banks and hashes all state, the head's caches included.
func digest(t *testing.T, d *drafting, h *mtp.Head) map[string][32]byte {
	t.Helper()
	if err := d.Pass.Settle(&model.Segment{Seq: d.Seq}); err != nil {
		t.Fatal(err)
	}
	if c := d.Seq.MTP; c.Len > 0 {
		pooler := qsa.NewPooler(d.Model.Device, d.Pass.Stream())
		defer pooler.Free()
		if _, _, err := state.Settle(&c.Attention, pooler, h.Indexer(), c.Len); err != nil {
			t.Fatal(err)
		}
	}
	out, err := d.Seq.Digest(d.Pass.Stream())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// draft runs one turn that makes the given drafts, and returns the logits of each step.
func (d *drafting) draft(next int32, drafts ...int32) [][]float32 {
	d.T.Helper()
	var logits [][]float32
	job := d.job(next, len(drafts), func(step int, row []float32) (int32, error) {
		logits = append(logits, slices.Clone(row))
		return drafts[step], nil
	})
	if err := d.head.Draft(context.Background(), []mtp.Job{job}); err != nil {
		d.T.Fatal(err)
	}
	return logits
}

// verify runs the round's rows and keeps the first of them.
func (d *drafting) verify(keep int, rows ...int32) {
	d.T.Helper()
	seg := d.Segment(rows, true, model.LogitsAll)
	d.Run(seg)
	d.commit(seg, keep)
}

// TestRounds drives a sequence through rounds whose drafts are kept in part, at random, below, across and above the QSA
// budget. After every round all state must be that of a sequence that takes one token at a time and never chains, and so
// must draft 1.
func TestRounds(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m, h := load(t, packtest.Open(t, g, 41, packtest.Options{WithMTP: true}), 1)
			rng := rand.New(rand.NewPCG(5, 6))
			for _, start := range []int{3, g.IndexBudget - 2, g.IndexBudget + 2*g.IndexRatio} {
				ids := tokens(g, uint64(start), start+80)
				d, plain := newDrafting(t, m, h, 24), newDrafting(t, m, h, 24)
				d.prefill(ids[:start], 24)
				plain.prefill(ids[:start], 5)
				for round := range 14 {
					what := fmt.Sprintf("from %d, round %d", start, round)
					at := d.Seq.Len
					depth := rng.IntN(5)
					keep := 1 + rng.IntN(depth+1)
					rows := slices.Clone(ids[at : at+keep])
					for len(rows) <= depth {
						rows = append(rows, rng.Int32N(int32(g.Vocab)))
					}
					drafted := d.draft(rows[0], rows[1:]...)
					if c := d.Seq.MTP; c.Bank.Blocks > h.Indexer().Complete(c.Len) {
						t.Fatalf("%s: got %d blocks in the bank after the turn, want those of %d rows", what, c.Bank.Blocks, c.Len)
					}
					d.verify(keep, rows...)

					for i := range keep {
						if i == 0 && depth > 0 {
							if got := plain.draft(ids[at], -1); !slices.Equal(got[0], drafted[0]) {
								t.Fatalf("%s: draft 1 differs by up to %.3g", what, modeltest.MaxDiff(got[0], drafted[0]))
							}
						} else {
							plain.prime(ids[at+i])
						}
						plain.verify(1, ids[at+i])
					}
					// d's kept rows are not yet in its caches, plain's are all but the last.
					next := ids[d.Seq.Len]
					d.prime(next)
					plain.prime(next)
					got, want := digest(t, d, h), digest(t, plain, h)
					if !maps.Equal(got, want) {
						for part := range want {
							if got[part] != want[part] {
								t.Errorf("%s: %s differs", what, part)
							}
						}
						t.FailNow()
					}
				}
			}
		})
	}
}

// TestCatchUpDoesNotDependOnChunks primes and drafts with passes of different sizes, over rows enough for the caches to
// grow on the way.
func TestCatchUpDoesNotDependOnChunks(t *testing.T) {
	g := packtest.Odd()
	m, h := load(t, packtest.Open(t, g, 42, packtest.Options{WithMTP: true}), 2)
	ids := tokens(g, 2, 310)
	n := len(ids) - 1
	var want [][]float32
	for _, rows := range []int{n, 1, 7} {
		d := newDrafting(t, m, h, n)
		pass, err := h.NewPass(rows)
		if err != nil {
			t.Fatal(err)
		}
		defer pass.Free()
		d.head = pass
		d.prefill(ids[:n], n) // one chunk: Draft catches up with the whole prompt
		got := d.draft(ids[n], 5, 6, 7)
		if want == nil {
			want = got
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("pass of %d rows, step %d: bits differ by up to %.3g", rows, i, modeltest.MaxDiff(got[i], want[i]))
			}
		}
	}
}

// TestSideBySide drafts for several sequences in one pass, to different depths.
func TestSideBySide(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m, h := load(t, packtest.Open(t, g, 43, packtest.Options{WithMTP: true}), 2)
			depths := []int{3, 0, 1, 4}
			var want [][][]float32
			var jobs []mtp.Job
			got := make([][][]float32, len(depths))
			known := make([][]int32, len(depths))
			var pass *mtp.Pass
			for i, depth := range depths {
				ids := tokens(g, uint64(70+i), 1+i*g.IndexBudget/2)
				drafts := tokens(g, uint64(80+i), depth+1)
				alone := newDrafting(t, m, h, 128)
				alone.prefill(ids, 128)
				want = append(want, alone.draft(drafts[depth], drafts[:depth]...))

				d := newDrafting(t, m, h, 128)
				d.prefill(ids, 128)
				pass = d.head
				job := d.job(drafts[depth], depth, func(step int, row []float32) (int32, error) {
					got[i] = append(got[i], slices.Clone(row))
					return drafts[step], nil
				})
				job.Known = func(row int, token int32) {
					if row != len(known[i]) || row != len(got[i]) {
						t.Errorf("job %d: row %d told after %d rows and %d drafts", i, row, len(known[i]), len(got[i]))
					}
					known[i] = append(known[i], token)
				}
				jobs = append(jobs, job)
			}
			if err := pass.Draft(context.Background(), jobs); err != nil {
				t.Fatal(err)
			}
			for i, depth := range depths {
				drafts := tokens(g, uint64(80+i), depth+1)
				if rows := append(drafts[depth:], drafts[:depth]...); !slices.Equal(known[i], rows) {
					t.Errorf("job %d: told tokens %v, want %v", i, known[i], rows)
				}
				if len(got[i]) != depth {
					t.Fatalf("job %d: got %d steps, want %d", i, len(got[i]), depth)
				}
				for step := range depth {
					if !slices.Equal(got[i][step], want[i][step]) {
						t.Errorf("job %d, step %d: bits differ by up to %.3g", i, step, modeltest.MaxDiff(got[i][step], want[i][step]))
					}
				}
			}
		})
	}
}

// TestProposeEndsItsOwnChain lets one job's Propose fail and another's stop early.
func TestProposeEndsItsOwnChain(t *testing.T) {
	g := packtest.Tiny()
	m, h := load(t, packtest.Open(t, g, 44, packtest.Options{WithMTP: true}), 1)
	boom := errors.New("row is not finite")
	steps := make([]int, 3)
	propose := func(i int) func(int, []float32) (int32, error) {
		return func(step int, _ []float32) (int32, error) {
			steps[i]++
			switch {
			case i == 0 && step == 1:
				return 0, boom
			case i == 1:
				return -1, nil
			}
			return 7, nil
		}
	}
	var jobs []mtp.Job
	var pass *mtp.Pass
	for i := range steps {
		d := newDrafting(t, m, h, 16)
		d.prefill(tokens(g, uint64(i), 6), 16)
		pass = d.head
		jobs = append(jobs, d.job(3, 3, propose(i)))
	}
	if err := pass.Draft(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	if want := []int{2, 1, 3}; !slices.Equal(steps, want) {
		t.Errorf("got %v steps, want %v", steps, want)
	}
	if !errors.Is(jobs[0].Err, boom) || jobs[1].Err != nil || jobs[2].Err != nil {
		t.Errorf("got errors %v, %v, %v, want only the first", jobs[0].Err, jobs[1].Err, jobs[2].Err)
	}
	for i, j := range jobs {
		if j.Seq.MTP.Len != 6 {
			t.Errorf("job %d: got %d rows in the caches, want 6", i, j.Seq.MTP.Len)
		}
	}
}

// TestCancelledTurnCanBeRunAgain cancels in the middle of a chain.
func TestCancelledTurnCanBeRunAgain(t *testing.T) {
	g := packtest.Tiny()
	m, h := load(t, packtest.Open(t, g, 45, packtest.Options{WithMTP: true}), 1)
	ids := tokens(g, 1, g.IndexBudget+6)
	d, plain := newDrafting(t, m, h, 64), newDrafting(t, m, h, 64)
	d.prefill(ids, 64)
	plain.prefill(ids, 64)
	want := plain.draft(9, 1, 2, 3)

	ctx, cancel := context.WithCancel(context.Background())
	job := d.job(9, 3, func(step int, _ []float32) (int32, error) {
		if step == 1 {
			cancel()
		}
		return 100, nil
	})
	if err := d.head.Draft(ctx, []mtp.Job{job}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	for i, got := range d.draft(9, 1, 2, 3) {
		if !slices.Equal(got, want[i]) {
			t.Errorf("step %d: bits differ after a cancelled turn", i)
		}
	}
}

func TestJobsAreChecked(t *testing.T) {
	g := packtest.Tiny()
	m, h := load(t, packtest.Open(t, g, 46, packtest.Options{WithMTP: true}), 1)
	d := newDrafting(t, m, h, 16)
	d.prefill(tokens(g, 1, 6), 16)
	propose := func(int, []float32) (int32, error) { return 0, nil }
	for name, edit := range map[string]func(*mtp.Job){
		"no caches":   func(j *mtp.Job) { j.Seq = modeltest.NewSequence(t, m) },
		"no rows":     func(j *mtp.Job) { j.Kept = nil },
		"few tokens":  func(j *mtp.Job) { j.Next = j.Next[1:] },
		"bad token":   func(j *mtp.Job) { j.Next[2] = int32(g.Vocab) },
		"gap":         func(j *mtp.Job) { j.Kept = &state.Kept{Pos: 3, Rows: 6, X: j.Kept.X} },
		"past end":    func(j *mtp.Job) { j.Seq.MTP.Len, j.Kept = 2047, &state.Kept{Pos: 2047, Rows: 6, X: j.Kept.X} },
		"no proposer": func(j *mtp.Job) { j.Propose = nil },
	} {
		t.Run(name, func(t *testing.T) {
			job := d.job(1, 2, propose)
			edit(&job)
			if err := d.head.Draft(context.Background(), []mtp.Job{job}); !errors.Is(err, mtp.ErrJob) {
				t.Errorf("got %v, want %v", err, mtp.ErrJob)
			}
			d.Seq.MTP.Len = 0
		})
	}
	twice := []mtp.Job{d.job(1, 1, propose), d.job(1, 1, propose)}
	if err := d.head.Draft(context.Background(), twice); !errors.Is(err, mtp.ErrJob) {
		t.Errorf("one sequence twice: got %v, want %v", err, mtp.ErrJob)
	}
}

func TestNoHead(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 47, packtest.Options{})
	m := modeltest.Load(t, p, modeltest.CPU(t, 1))
	if _, err := mtp.Load(p, m); !errors.Is(err, mtp.ErrNoHead) {
		t.Errorf("got %v, want %v", err, mtp.ErrNoHead)
	}
}

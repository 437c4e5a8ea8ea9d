package state_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// engine is a model with a head, and the passes that all sequences of a test share.
type engine struct {
	t     testing.TB
	m     *model.Model
	h     *mtp.Head
	trunk *model.Pass
	head  *mtp.Pass
	st    metal.Stream
	index *qsa.Indexer // the head's, to settle its bank: the head itself does so only when it has to choose blocks
}

func newEngine(t testing.TB, p *pack.Pack, dev metal.Device, maxRows int) *engine {
	t.Helper()
	e := &engine{t: t, m: modeltest.Load(t, p, dev), st: dev.NewStream()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	e.h, err = mtp.Load(p, e.m)
	must(err)
	t.Cleanup(e.h.Close)
	e.trunk, err = e.m.NewPass(maxRows)
	must(err)
	t.Cleanup(e.trunk.Free)
	e.head, err = e.h.NewPass(maxRows)
	must(err)
	t.Cleanup(e.head.Free)
	e.index = bindHead(t, p, e.m)
	return e
}

// bindHead makes the indexer of the head's layer.
func bindHead(t testing.TB, p *pack.Pack, m *model.Model) *qsa.Indexer {
	t.Helper()
	l := block.NewLoader(p, m.Device)
	t.Cleanup(l.Free)
	freq, err := block.NewFreq(m.Config.MTPRope, m.Config.HeadDim)
	if err != nil {
		t.Fatal(err)
	}
	norm := l.Norm("mtp.layers.0.self_attn.indexer.k_layernorm", m.Config.IndexDim)
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	ix, err := qsa.Bind(0, block.IndexGeometry(&m.Config), norm, freq)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// talk is one sequence that drafts, with its ledger, driven as the actors do.
type talk struct {
	*engine
	seq    *state.Sequence
	ledger []int32
	kept   *state.Kept // rows the head has not seen
}

func (e *engine) start() *talk {
	e.t.Helper()
	seq, err := e.m.NewSequence()
	if err == nil {
		err = e.h.Attach(seq)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	return &talk{engine: e, seq: seq}
}

func (k *talk) end() {
	k.kept.Free()
	k.seq.Release()
}

// feed prefills ids in chunks cut at absolute multiples and returns the logits of all rows. The head is primed from all
// chunks but the last.
func (k *talk) feed(ids []int32, chunk int) [][]float32 {
	k.t.Helper()
	var logits [][]float32
	for len(ids) > 0 {
		n := min(len(ids), chunk-k.seq.Len%chunk)
		k.prime(ids[0])
		logits = append(logits, k.run(ids[:n], n, false)...)
		ids = ids[n:]
	}
	return logits
}

// run runs rows and commits the first keep of them.
func (k *talk) run(rows []int32, keep int, draft bool) [][]float32 {
	k.t.Helper()
	seg := &model.Segment{Seq: k.seq, Tokens: rows, History: k.ledger, Draft: draft, Logits: model.LogitsAll}
	if err := k.trunk.Run(context.Background(), []*model.Segment{seg}); err != nil {
		k.t.Fatal(err)
	}
	logits := modeltest.Logits(k.t, k.m, k.trunk, seg)
	err := k.trunk.Commit(seg, keep)
	if err == nil {
		err = k.trunk.Settle(seg)
	}
	if err == nil {
		k.kept.Free()
		k.kept, err = k.trunk.Keep(seg, 0, keep)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	k.ledger = append(k.ledger[:len(k.ledger):len(k.ledger)], rows[:keep]...)
	return logits[:keep]
}

func (k *talk) job(next int32) mtp.Job {
	return mtp.Job{Seq: k.seq, Kept: k.kept, Next: append(slices.Clone(k.ledger[k.kept.Pos+1:]), next)}
}

// prime runs the kept rows into the head's caches; next follows the last of them.
func (k *talk) prime(next int32) {
	k.t.Helper()
	if k.kept == nil {
		return
	}
	if err := k.head.Prime(context.Background(), []mtp.Job{k.job(next)}); err != nil {
		k.t.Fatal(err)
	}
}

// draft catches up and chains the given drafts; it returns the logits of each step.
func (k *talk) draft(next int32, drafts ...int32) [][]float32 {
	k.t.Helper()
	var logits [][]float32
	j := k.job(next)
	j.Depth = len(drafts)
	j.Propose = func(step int, row []float32) (int32, error) {
		logits = append(logits, slices.Clone(row))
		return drafts[step], nil
	}
	if err := k.head.Draft(context.Background(), []mtp.Job{j}); err != nil {
		k.t.Fatal(err)
	}
	return logits
}

// digest settles all banks and hashes all state.
func (k *talk) digest() map[string][32]byte {
	k.t.Helper()
	if err := k.trunk.Settle(&model.Segment{Seq: k.seq}); err != nil {
		k.t.Fatal(err)
	}
	if c := k.seq.MTP; c != nil && c.Len > 0 {
		pooler := qsa.NewPooler(k.m.Device, k.st)
		defer pooler.Free()
		if _, _, err := state.Settle(&c.Attention, pooler, k.index, c.Len); err != nil {
			k.t.Fatal(err)
		}
	}
	out, err := k.seq.Digest(k.st)
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

func (k *talk) take(parent *state.Snapshot, account state.Account) *state.Snapshot {
	k.t.Helper()
	s, err := state.Take(k.st, k.seq, state.TakeOptions{Parent: parent, Prompt: k.seq.Len, Kept: k.kept, Account: account})
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// restore makes a talk out of a snapshot of the first tokens of ids.
func (e *engine) restore(s *state.Snapshot, ids []int32) *talk {
	e.t.Helper()
	seq, kept, err := state.Restore(e.st, e.m.Shape, e.m.Device, s, state.RestoreOptions{Drafts: true, Shelf: e.m.Shelf})
	if err != nil {
		e.t.Fatal(err)
	}
	return &talk{engine: e, seq: seq, kept: kept, ledger: ids[:s.Len:s.Len]}
}

func sameState(t testing.TB, what string, got, want map[string][32]byte) {
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

func sameLogits(t testing.TB, what string, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d rows, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: row %d differs, by up to %.3g", what, i, modeltest.MaxDiff(got[i], want[i]))
		}
	}
}

func randomTokens(vocab int, seed uint64, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 99))
	out := make([]int32, n)
	for i := range out {
		out[i] = rng.Int32N(int32(vocab))
	}
	return out
}

var geometries = []struct {
	name string
	make func() packtest.Geometry
}{{"tiny", packtest.Tiny}, {"odd", packtest.Odd}}

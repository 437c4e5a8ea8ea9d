package model_test

import (
	"context"
	"errors"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// stager stands in for the actor: it makes windows on a stream of its own.
type stager struct {
	t     *testing.T
	m     *model.Model
	maker *ple.Maker
}

func newStager(t *testing.T, m *model.Model) *stager {
	s := &stager{t: t, m: m, maker: ple.NewMaker(m.Device, m.PLE)}
	t.Cleanup(s.maker.Free)
	return s
}

func (s *stager) window(r *modeltest.Runner, tokens []int32, fail error) *ple.Window {
	s.t.Helper()
	w, err := ple.NewWindow(s.m.Device, s.m.PLE, len(tokens))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Free)
	w.Reset(r.Ledger, r.Seq.Len)
	for i, id := range tokens { // as drafts become known
		w.Push(id)
		if err := s.maker.Make(context.Background(), w, i, i+1); err != nil {
			s.t.Fatal(err)
		}
	}
	w.Gate.Open(fail)
	return w
}

// TestLanesDoNotChangeBits runs the same rounds with windows and banks made elsewhere, made inline, and promised but
// broken, and asks for the same logits and the right counts.
func TestLanesDoNotChangeBits(t *testing.T) {
	broken := errors.New("restarted")
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m := modeltest.Load(t, packtest.Open(t, g, 51, packtest.Options{}), modeltest.CPU(t, 2))
			start := g.IndexBudget + 2*g.IndexRatio
			ids := tokens(g, 1, start+12)
			stock := modeltest.NewRunner(t, m, 64)
			stock.Feed(ids[:start], 64, model.LogitsNone)
			want := stock.Feed(ids[start:], 64, model.LogitsAll)
			layers := len(m.Indexers)

			cases := []struct {
				name    string
				window  error // what the window's gate opens with; nil window if noWindow
				none    bool
				bank    error
				settle  bool // the banks are settled before the gates open
				promise bool // there are bank gates
				want    model.Counts
			}{
				{name: "lanes on", settle: true, promise: true, want: model.Counts{Hits: 1, Settled: layers}},
				{name: "lanes off", none: true, want: model.Counts{Inline: 1, Pooled: layers}},
				{name: "settled by the verifier", none: true, settle: true, want: model.Counts{Inline: 1, Settled: layers}},
				{name: "window broken", window: broken, settle: true, promise: true, want: model.Counts{Inline: 1, FailOver: 1, Settled: layers, Reason: broken}},
				{name: "banks broken", bank: broken, promise: true, want: model.Counts{Hits: 1, FailOver: layers, Pooled: layers, Reason: broken}},
				{name: "banks behind", promise: true, want: model.Counts{Hits: 1, FailOver: layers, Pooled: layers}},
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					s := newStager(t, m)
					pooler := qsa.NewPooler(m.Device, m.Device.NewStream())
					t.Cleanup(pooler.Free)
					r := modeltest.NewRunner(t, m, 64)
					r.Feed(ids[:start], 64, model.LogitsNone)
					var got [][]float32
					for from := start; from < len(ids); from += 4 {
						seg := r.Segment(ids[from:from+4], true, model.LogitsAll)
						if !c.none {
							seg.Window = s.window(r, seg.Tokens, c.window)
						}
						if c.promise {
							seg.Banks = make([]*gate.Gate, layers)
						}
						for i, ix := range m.Indexers {
							if c.settle {
								if _, _, err := state.Settle(r.Seq.Attention[i], pooler, ix, r.Seq.Len); err != nil {
									t.Fatal(err)
								}
							}
							if c.promise {
								seg.Banks[i] = gate.Opened(c.bank)
							}
						}
						r.Run(seg)
						counts := seg.Counts
						counts.WindowWait, counts.BankWait = 0, 0
						if counts != c.want {
							t.Errorf("got counts %+v, want %+v", counts, c.want)
						}
						got = append(got, modeltest.Logits(t, m, r.Pass, seg)...)
						r.Commit(r.Pass, seg, 4)
					}
					same(t, c.name, got, want)
				})
			}
		})
	}
}

// TestGatesAreAwaited opens the gates while the pass waits for them, and not before layer 0 has run.
func TestGatesAreAwaited(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 52, packtest.Options{}), modeltest.CPU(t, 1))
	start := g.IndexBudget + 2*g.IndexRatio
	ids := tokens(g, 1, start+4)
	stock := modeltest.NewRunner(t, m, 64)
	stock.Feed(ids[:start], 64, model.LogitsNone)
	want := stock.Feed(ids[start:], 64, model.LogitsAll)

	r := modeltest.NewRunner(t, m, 64)
	r.Feed(ids[:start], 64, model.LogitsNone)
	s := newStager(t, m)
	seg := r.Segment(ids[start:], true, model.LogitsAll)
	seg.Window = s.window(r, seg.Tokens, nil)
	seg.Window.Gate = gate.New()
	seg.Banks = make([]*gate.Gate, len(m.Indexers))
	for i := range seg.Banks {
		seg.Banks[i] = gate.New()
	}
	// Each promise is kept from another goroutine once the pass has come close to needing it.
	reached := make(chan int, 16)
	r.Pass.Probe = func(name string, layer int, _ metal.Mat) {
		if name == "layer" {
			reached <- layer
		}
	}
	done := make(chan error, 1)
	go func() {
		pooler := qsa.NewPooler(m.Device, m.Device.NewStream())
		defer pooler.Free()
		defer close(done)
		for layer := range reached {
			if layer+1 == m.PLE[0].At {
				seg.Window.Gate.Open(nil)
			}
			for i, ix := range m.Indexers {
				if layer+1 == ix.Layer {
					if _, _, err := state.Settle(r.Seq.Attention[i], pooler, ix, r.Seq.Len); err != nil {
						done <- err
					}
					seg.Banks[i].Open(nil)
				}
			}
		}
	}()
	r.Run(seg)
	close(reached)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if seg.FailOver != 0 || seg.Hits != 1 || seg.Settled != len(m.Indexers) {
		t.Errorf("got counts %+v, want all promises kept", seg.Counts)
	}
	same(t, "awaited", modeltest.Logits(t, m, r.Pass, seg), want)
	r.Pass.Abort(seg)
}

// TestDenseRowsDoNotWaitForBanks leaves the gates closed below the budget.
func TestDenseRowsDoNotWaitForBanks(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 53, packtest.Options{}), modeltest.CPU(t, 1))
	r := modeltest.NewRunner(t, m, 64)
	ids := tokens(g, 1, g.IndexBudget)
	r.Feed(ids[:8], 64, model.LogitsNone)
	seg := r.Segment(ids[8:], false, model.LogitsLast)
	seg.Banks = make([]*gate.Gate, len(m.Indexers))
	for i := range seg.Banks {
		seg.Banks[i] = gate.New()
	}
	r.Run(seg)
	r.Commit(r.Pass, seg, len(seg.Tokens))
}

// TestCancel ends the context in the middle of a pass and while it waits.
func TestCancel(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 54, packtest.Options{}), modeltest.CPU(t, 1))
	ids := tokens(g, 1, 60)
	gone := errors.New("client went away")
	run := func(r *modeltest.Runner, seg *model.Segment) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		r.Pass.Probe = func(name string, layer int, _ metal.Mat) {
			if name == "layer" && layer == 2 {
				cancel(gone)
			}
		}
		err := r.Pass.Run(ctx, []*model.Segment{seg})
		r.Pass.Probe = nil
		return err
	}
	t.Run("draft", func(t *testing.T) {
		r := modeltest.NewRunner(t, m, 64)
		r.Feed(ids[:50], 64, model.LogitsNone)
		before := digest(t, r)
		seg := r.Segment(ids[50:54], true, model.LogitsAll)
		if err := run(r, seg); !errors.Is(err, gone) {
			t.Fatalf("got %v, want %v", err, gone)
		}
		r.Pass.Abort(seg)
		sameState(t, "cancelled", digest(t, r), before)
		r.Feed(ids[50:54], 64, model.LogitsNone)
	})
	t.Run("prefill", func(t *testing.T) {
		r := modeltest.NewRunner(t, m, 64)
		seg := r.Segment(ids[:20], false, model.LogitsNone)
		if err := run(r, seg); !errors.Is(err, gone) {
			t.Fatalf("got %v, want %v", err, gone)
		}
		r.Pass.Abort(seg)
		err := r.Pass.Run(context.Background(), []*model.Segment{r.Segment(ids[:20], false, model.LogitsNone)})
		if !errors.Is(err, state.ErrBroken) {
			t.Errorf("after a cancelled prefill: got %v, want %v", err, state.ErrBroken)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		r := modeltest.NewRunner(t, m, 64)
		s := newStager(t, m)
		seg := r.Segment(ids[:3], true, model.LogitsNone)
		seg.Window = s.window(r, seg.Tokens, nil)
		seg.Window.Gate = gate.New() // nobody opens it
		ctx, cancel := context.WithCancelCause(context.Background())
		r.Pass.Probe = func(name string, layer int, _ metal.Mat) {
			if name == "layer" {
				cancel(gone)
			}
		}
		if err := r.Pass.Run(ctx, []*model.Segment{seg}); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	})
}

// TestStaleWindow gives a segment a window of other tokens: a fault of ours that must not change the text.
func TestStaleWindow(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 55, packtest.Options{}), modeltest.CPU(t, 1))
	ids := tokens(g, 1, 20)
	want := modeltest.NewRunner(t, m, 64).Feed(ids, 64, model.LogitsAll)
	r := modeltest.NewRunner(t, m, 64)
	s := newStager(t, m)
	seg := r.Segment(ids, false, model.LogitsAll)
	other := append([]int32(nil), ids...)
	other[10]++
	seg.Window = s.window(r, other, nil)
	r.Run(seg)
	if seg.FailOver != 1 || seg.Inline != 1 || seg.Reason == nil {
		t.Errorf("got counts %+v, want one fail-over with its reason", seg.Counts)
	}
	same(t, "stale window", modeltest.Logits(t, m, r.Pass, seg), want)
}

// TestSegmentsAreChecked names what does not fit, and leaves the sequence alone.
func TestSegmentsAreChecked(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 56, packtest.Options{}), modeltest.CPU(t, 1))
	r := modeltest.NewRunner(t, m, 8)
	ids := tokens(g, 1, 40)
	r.Feed(ids[:6], 8, model.LogitsNone)
	before := digest(t, r)
	good := func() *model.Segment { return r.Segment(ids[6:10], true, model.LogitsLast) }
	cases := map[string][]*model.Segment{"none": {}, "twice": {good(), good()}}
	for name, edit := range map[string]func(*model.Segment){
		"no sequence": func(s *model.Segment) { s.Seq = nil },
		"no tokens":   func(s *model.Segment) { s.Tokens = nil },
		"too many":    func(s *model.Segment) { s.Tokens = ids[:9] },
		"bad token":   func(s *model.Segment) { s.Tokens = []int32{3, int32(g.Vocab)} },
		"negative":    func(s *model.Segment) { s.Tokens = []int32{-1} },
		"no history":  func(s *model.Segment) { s.History = nil },
		"bank gates":  func(s *model.Segment) { s.Banks = make([]*gate.Gate, 1) },
	} {
		seg := good()
		edit(seg)
		cases[name] = []*model.Segment{seg}
	}
	for name, segs := range cases {
		t.Run(name, func(t *testing.T) {
			if err := r.Pass.Run(context.Background(), segs); !errors.Is(err, model.ErrSegment) {
				t.Errorf("got %v, want %v", err, model.ErrSegment)
			}
			sameState(t, name, digest(t, r), before)
		})
	}
	seg := good()
	r.Run(seg)
	for name, err := range map[string]error{
		"commit none":  r.Pass.Commit(seg, 0),
		"commit more":  r.Pass.Commit(seg, 5),
		"another":      r.Pass.Commit(good(), 1),
		"logits row 0": r.Pass.LogitsRow(make([]float32, g.Vocab), seg, 0),
		"logits row 4": r.Pass.LogitsRow(make([]float32, g.Vocab), seg, 4),
	} {
		if !errors.Is(err, model.ErrSegment) {
			t.Errorf("%s: got %v, want %v", name, err, model.ErrSegment)
		}
	}
	r.Commit(r.Pass, seg, 2)
	if err := r.Pass.Commit(seg, 2); !errors.Is(err, model.ErrSegment) {
		t.Errorf("commit twice: got %v, want %v", err, model.ErrSegment)
	}
	if _, err := r.Pass.Keep(seg, 0, 5); !errors.Is(err, model.ErrSegment) {
		t.Errorf("keep more: got %v, want %v", err, model.ErrSegment)
	}
}

package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal"
)

// short is a device that runs out of memory after some allocations or weights.
type short struct {
	metal.Device
	left int
}

func (s *short) Alloc(t metal.DType, n int) (metal.Buffer, error) {
	if s.left--; s.left < 0 {
		return nil, metal.ErrMemory
	}
	return s.Device.Alloc(t, n)
}

func (s *short) Load(spec metal.WeightSpec) (metal.Weight, error) {
	if s.left--; s.left < 0 {
		return nil, metal.ErrMemory
	}
	return s.Device.Load(spec)
}

// TestLoadWithoutMemory fails every allocation of a load in turn; nothing may stay behind.
func TestLoadWithoutMemory(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 71, packtest.Options{})
	dev := modeltest.CPU(t, 1)
	n := 0
	for ; ; n++ {
		m, err := model.Load(p, &short{dev, n}, model.Options{})
		if err == nil {
			m.Close()
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		if got := dev.Used(); got != 0 {
			t.Fatalf("allocation %d: got %d bytes in use after the failure, want 0", n, got)
		}
	}
	if n < 50 {
		t.Errorf("got %d allocations in all, want more: not all of a load was tested", n)
	}
}

// TestPassWithoutMemory does so for a pass, and for its rounds.
func TestPassWithoutMemory(t *testing.T) {
	g := packtest.Tiny()
	dev := &short{modeltest.CPU(t, 1), 1 << 30}
	m := modeltest.Load(t, packtest.Open(t, g, 72, packtest.Options{}), dev)
	before := dev.Used()
	for n := 0; ; n++ {
		dev.left = n
		p, err := m.NewPass(16)
		if err == nil {
			p.Free()
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		if got := dev.Used(); got != before {
			t.Fatalf("allocation %d: got %d bytes more in use after the failure", n, got-before)
		}
	}
	dev.left = 1 << 30
	ids := tokens(g, 1, 16)
	want := modeltest.NewRunner(t, m, 16).Feed(ids, 16, model.LogitsAll)
	r := modeltest.NewRunner(t, m, 16)
	for n := 0; ; n++ {
		dev.left = n
		seg := r.Segment(ids, true, model.LogitsAll)
		err := r.Pass.Run(t.Context(), []*model.Segment{seg})
		if err == nil {
			if n == 0 {
				t.Error("the first round allocated nothing")
			}
			same(t, "after rounds without memory", modeltest.Logits(t, m, r.Pass, seg), want)
			r.Pass.Abort(seg)
			break
		}
		if !errors.Is(err, metal.ErrMemory) {
			t.Fatalf("allocation %d: got %v, want %v", n, err, metal.ErrMemory)
		}
		r.Pass.Abort(seg)
	}
	dev.left = 1 << 30
}

func TestContextIsChecked(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 73, packtest.Options{})
	if _, err := model.Load(p, modeltest.CPU(t, 1), model.Options{Context: 1 << 20}); err == nil || !strings.Contains(err.Error(), "2048") {
		t.Errorf("got %v, want an error that names the limit of 2048", err)
	}
	m, err := model.Load(p, modeltest.CPU(t, 1), model.Options{Context: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r := modeltest.NewRunner(t, m, 16)
	ids := tokens(packtest.Tiny(), 1, 11)
	err = r.Pass.Run(t.Context(), []*model.Segment{r.Segment(ids, false, model.LogitsNone)})
	if !errors.Is(err, model.ErrSegment) {
		t.Errorf("past the context: got %v, want %v", err, model.ErrSegment)
	}
	r.Feed(ids[:10], 16, model.LogitsLast)
	if got := r.Seq.Positions(); got != 10 {
		t.Errorf("got room for %d positions, want the context of 10", got)
	}
}

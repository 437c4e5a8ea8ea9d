package qsa

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
)

// checkRig is a model with three attention layers, all in order.
func checkRig(t testing.TB, dev metal.Device) (Model, []*Indexer) {
	t.Helper()
	m := Model{Layers: []int{3, 7, 8}, Geometry: Geometry{Heads: 2, Dim: 8, Ratio: 4, Budget: 16, Eps: 1e-6}, Freq: newFreq(t, 4, 1e4, nil), RopeScale: 1}
	var all []*Indexer
	for _, l := range m.Layers {
		buf, err := dev.Alloc(metal.F32, 8)
		if err != nil {
			t.Fatal(err)
		}
		m.Norms = append(m.Norms, metal.NewVec(buf))
		ix, err := Bind(l, m.Geometry, metal.NewVec(buf), m.Freq)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ix)
	}
	return m, all
}

func TestCheck(t *testing.T) {
	dev := openCPU(t)
	m, all := checkRig(t, dev)
	v, err := Check(m, all)
	if err != nil {
		t.Fatal(err)
	}
	r := v.Report
	if !v.Installed || !slices.Equal(r.Layers, []int{3, 7, 8}) || !r.SharedFreq || r.FreqObjects != 1 || r.Bindings != 3 || r.BankMode != "rowsel" ||
		r.WeightsCopied || r.Top != 4 || r.DensePositions != 19 || r.RotaryDim != 4 {
		t.Errorf("got %+v", v)
	}
	if !m.Geometry.Dense(r.DensePositions) || m.Geometry.Dense(r.DensePositions+1) {
		t.Errorf("dense positions: got %d", r.DensePositions)
	}
	if got, want := v.String(), "installed: bank_mode=rowsel indexers=3 shared_inv_freq_objects=1"; !strings.HasPrefix(got, want) {
		t.Errorf("verdict line: got %q, want %q...", got, want)
	}
	v, err = Check(Model{}, nil)
	if err != nil || v.Installed || v.String() != "declined to stock: the model has no sparse attention layers" {
		t.Errorf("no attention layers: got %v, %v", v, err)
	}
}

func TestCheckMismatch(t *testing.T) {
	dev := openCPU(t)
	for name, tc := range map[string]struct {
		change func(*Model, []*Indexer) []*Indexer
		want   string
	}{
		"a layer short": {func(m *Model, x []*Indexer) []*Indexer { return x[:2] }, "layer positions: got [3 7], want [3 7 8]"},
		"none":          {func(m *Model, x []*Indexer) []*Indexer { return nil }, "layer positions"},
		"nil":           {func(m *Model, x []*Indexer) []*Indexer { x[1] = nil; return x }, "indexer 1: got none"},
		"order":         {func(m *Model, x []*Indexer) []*Indexer { x[0], x[1] = x[1], x[0]; return x }, "layer positions"},
		"epsilon":       {func(m *Model, x []*Indexer) []*Indexer { x[2].Eps = 1e-5; return x }, "layer 8: norm epsilon: got 1e-05"},
		"ratio":         {func(m *Model, x []*Indexer) []*Indexer { x[1].Ratio = 2; return x }, "layer 7: geometry"},
		"model's own":   {func(m *Model, x []*Indexer) []*Indexer { m.Geometry.Budget = 1; return x }, "indexer_budget"},
		"equal but another freq": {func(m *Model, x []*Indexer) []*Indexer {
			f := *x[2].Freq
			x[2].Freq = &f
			return x
		}, "layer 8: inverse frequencies: got an object of its own"},
		"not the attention's freq": {func(m *Model, x []*Indexer) []*Indexer {
			f := *m.Freq
			m.Freq = &f
			return x
		}, "the one of the attention layers"},
		"rope scale": {func(m *Model, x []*Indexer) []*Indexer { m.RopeScale = 1.1; return x }, "rope scale: got 1, want 1.1"},
		"weight copy": {func(m *Model, x []*Indexer) []*Indexer {
			buf, err := dev.Alloc(metal.F32, 8)
			if err != nil {
				panic(err)
			}
			x[0].Norm = metal.NewVec(buf)
			return x
		}, "layer 3: key norm: got memory of its own"},
		"norms": {func(m *Model, x []*Indexer) []*Indexer { m.Norms = m.Norms[:2]; return x }, "key norms: got 2"},
	} {
		m, all := checkRig(t, dev)
		v, err := Check(m, tc.change(&m, all))
		if !errors.Is(err, ErrInstall) || !strings.Contains(err.Error(), tc.want) || v.Installed {
			t.Errorf("%s: got %v, %v, want ErrInstall with %q", name, v, err, tc.want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	dev := openCPU(t)
	m, all := checkRig(t, dev)
	ints, err := dev.Alloc(metal.I32, 8)
	if err != nil {
		t.Fatal(err)
	}
	norm := all[0].Norm
	for name, fn := range map[string]func() error{
		"layer":    func() error { _, err := Bind(-1, m.Geometry, norm, m.Freq); return err },
		"geometry": func() error { g := m.Geometry; g.Ratio = 0; _, err := Bind(3, g, norm, m.Freq); return err },
		"no norm":  func() error { _, err := Bind(3, m.Geometry, metal.Vec{}, m.Freq); return err },
		"width":    func() error { n := norm; n.N = 7; _, err := Bind(3, m.Geometry, n, m.Freq); return err },
		"dtype":    func() error { _, err := Bind(3, m.Geometry, metal.NewVec(ints), m.Freq); return err },
		"no freq":  func() error { _, err := Bind(3, m.Geometry, norm, nil); return err },
		"rotary":   func() error { _, err := Bind(3, m.Geometry, norm, newFreq(t, 10, 1e4, nil)); return err },
	} {
		if err := fn(); !errors.Is(err, ErrGeometry) {
			t.Errorf("%s: got %v, want ErrGeometry", name, err)
		}
	}
}

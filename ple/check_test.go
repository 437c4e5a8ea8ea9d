package ple_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

func checkModel(r *rig) ple.Model {
	m := ple.Model{Hidden: rigHidden, Streams: rigStreams, Eps: 1e-5, Pending: 2}
	for _, l := range r.layers {
		m.Layers = append(m.Layers, l.At)
		m.Geometry = append(m.Geometry, l.Hash.Geometry())
	}
	return m
}

func TestCheck(t *testing.T) {
	dev := openCPU(t)
	r := newRig(t, dev, metal.FormatQ8, false, 50)
	v, err := ple.Check(checkModel(r), r.layers)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Installed || v.Reason != "" || v.Report.Variant != "async_aux" || v.Report.PendingLimit != 2 || v.Report.Bindings != 2 || v.Report.RowsPerToken != 12 {
		t.Errorf("got %+v", v)
	}
	// 4 codes of 8 bits, two groups of 2 with a bf16 scale and bias each.
	if b := v.Report.Tables[1]; b.RowBytes != 12 || b.PlaneBytes != [3]int{4, 4, 4} || b.CacheRows != 50 || b.Format != "q8" || b.Placement != "memory" {
		t.Errorf("table: got %+v", b)
	}
	for _, want := range []string{"installed", "variant=async_aux", "pending_limit=2", "bindings=2", "row_bytes=12"} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("verdict line %q lacks %q", v, want)
		}
	}

	v, err = ple.Check(ple.Model{Pending: 2}, nil)
	if err != nil || v.Installed || !strings.Contains(v.String(), "declined to stock: the model has no PLE layer") {
		t.Errorf("no PLE: got %v, %v", v, err)
	}
	r = newRig(t, dev, metal.FormatQ8, false, 50)
	r.layers[0].Cache = nil
	v, err = ple.Check(checkModel(r), r.layers)
	if err != nil || v.Installed || v.Reason != "no row provider for the PLE layer on layer 1" {
		t.Errorf("no row provider: got %v, %v", v, err)
	}
}

func TestCheckMismatch(t *testing.T) {
	dev := openCPU(t)
	for name, tc := range map[string]struct {
		change func(*ple.Model, *rig)
		want   string
	}{
		"a layer short":  {func(m *ple.Model, r *rig) { r.layers = r.layers[:1] }, "PLE layers: got 1"},
		"nil layer":      {func(m *ple.Model, r *rig) { r.layers[1] = nil }, "PLE layer 1: got none"},
		"position":       {func(m *ple.Model, r *rig) { m.Layers[1] = 5 }, "position"},
		"order":          {func(m *ple.Model, r *rig) { m.Geometry[0].NgramSize = 3 }, "n-gram geometry"},
		"eos":            {func(m *ple.Model, r *rig) { m.Geometry[1].EOS++ }, "layer 4: n-gram geometry"},
		"hidden":         {func(m *ple.Model, r *rig) { m.Hidden = 16 }, "hidden, streams"},
		"epsilon":        {func(m *ple.Model, r *rig) { m.Eps = 1e-6 }, "norm epsilon"},
		"no hash":        {func(m *ple.Model, r *rig) { r.layers[0].Hash = nil }, "hash: got none"},
		"swapped proj":   {func(m *ple.Model, r *rig) { r.layers[0].Key = r.layers[0].Value }, "key_proj"},
		"norm width":     {func(m *ple.Model, r *rig) { r.layers[0].NormKey.N-- }, "norm_key"},
		"pending":        {func(m *ple.Model, r *rig) { m.Pending = 0 }, "pending limit"},
		"table too thin": {func(m *ple.Model, r *rig) { r.layers[1].Cache = newRigCache(r, 100) }, "rows: got 100"},
		"mismatch wins over decline": {func(m *ple.Model, r *rig) {
			r.layers[0].Cache = nil
			r.layers[1].NormKey.N--
		}, "norm_key"},
	} {
		r := newRig(t, dev, metal.FormatF32, false, 50)
		m := checkModel(r)
		tc.change(&m, r)
		v, err := ple.Check(m, r.layers)
		if !errors.Is(err, ple.ErrInstall) || !strings.Contains(err.Error(), tc.want) || v.Installed {
			t.Errorf("%s: got %v, %v, want ErrInstall with %q", name, v, err, tc.want)
		}
	}
}

// newRigCache is a cache over a table of rows rows, of the rig's row width.
func newRigCache(r *rig, rows int64) *ple.Cache {
	data := make([]byte, rows*16)
	table, err := ple.OpenTable(ple.TableSpec{Name: "thin", Rows: rows, Dim: 4, Format: metal.FormatF32,
		Shards: []ple.Shard{{Rows: rows, Weight: ple.Span{Data: data, Len: int64(len(data))}}}})
	if err != nil {
		panic(err)
	}
	c, err := ple.NewCache(table, 1000, ple.CacheOptions{})
	if err != nil {
		panic(err)
	}
	return c
}

package synth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/synth"
)

// geometry is that of a packtest model.
func geometry(t *testing.T, g packtest.Geometry, o packtest.Options) synth.Geometry {
	t.Helper()
	files, err := packtest.Files(g, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := synth.Parse([]byte(files["config.json"]))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The released geometry has the figures of the spec (1.1, 1.2, 2.7.1).
func TestReleased(t *testing.T) {
	g, err := synth.Released()
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Config()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := synth.Rows(&c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows, []int64{320001536}) || c.RowDim() != 160 {
		t.Errorf("table: got %v rows of %d, want 320001536 of 160", rows, c.RowDim())
	}
	var params int64
	for _, x := range c.Trunk() {
		n := int64(max(x.Rows, 1)) * int64(max(x.Cols, 1))
		switch x.Kind {
		case pack.Experts:
			n *= 3 * int64(x.Stack)
		case pack.Ints, pack.Table:
			n = 0
		}
		params += n
	}
	if got, want := float64(params)/1e9, 125.74; got < want-0.005 || got > want+0.005 {
		t.Errorf("parameters of the trunk without the table: got %.3f billion, want %.2f", got, want)
	}
	if c.Layers != 48 || c.Count(pack.KindQSA) != 12 || c.Kinds[3] != pack.KindQSA || !slices.Equal(c.PLELayers, []int{1}) || c.MTPLayers != 1 {
		t.Errorf("got %d layers, %d QSA, PLE on %v, %d of the head", c.Layers, c.Count(pack.KindQSA), c.PLELayers, c.MTPLayers)
	}
}

// A cut keeps the pattern of the layers that are left, and a model without QSA or without its PLE layers is refused.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name   string
		g      synth.Geometry
		layers int
		want   string // the kinds that are left, or a part of the error
	}{
		{"released", must(synth.Released()), 4, "gggq"},
		{"released", must(synth.Released()), 9, "gggqgggqg"},
		{"released", must(synth.Released()), 3, "got 3, want 4"},
		{"released", must(synth.Released()), 49, "to 48"},
		{"released", must(synth.Released()), -1, "got -1"},
		{"odd", geometry(t, packtest.Odd(), packtest.Options{WithMTP: true}), 3, "gqg"},
		{"odd, second PLE layer gone", geometry(t, packtest.Odd(), packtest.Options{}), 2, "got 2, want 3"},
		{"nested", geometry(t, packtest.Tiny(), packtest.Options{Layout: pack.MLX}), 3, "ggq"},
	} {
		err := c.g.Cut(c.layers)
		if err != nil {
			if !errors.Is(err, synth.ErrGeometry) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %d layers: got %v, want %q", c.name, c.layers, err, c.want)
			}
			continue
		}
		config, err := c.g.Config()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, k := range config.Kinds {
			got += string(k.String()[0])
		}
		if got != c.want {
			t.Errorf("%s, %d layers: got %s, want %s", c.name, c.layers, got, c.want)
		}
	}
}

func must(g synth.Geometry, err error) synth.Geometry {
	if err != nil {
		panic(err)
	}
	return g
}

// The tables are the largest that fit into what was asked for: one base more would not.
func TestSetRows(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() synth.Geometry
		rows []int64
	}{
		{"released", func() synth.Geometry { return must(synth.Released()) }, []int64{384, 385, 1000, 999_999, 10_000_000, 320_001_535, 400_000_000}},
		{"two tables", func() synth.Geometry { return geometry(t, packtest.Odd(), packtest.Options{}) }, []int64{500, 1001, 70_000}},
	} {
		for _, rows := range c.rows {
			g := c.make()
			base, made, err := g.SetRows(rows)
			if err != nil {
				t.Fatal(err)
			}
			config, err := g.Config()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := synth.Rows(&config); err != nil || !slices.Equal(got, made) || config.NgramBase != base {
				t.Errorf("%s, %d rows: got %v from the config with base %d, want %v and %d (%v)", c.name, rows, got, config.NgramBase, made, base, err)
			}
			if slices.Max(made) > rows {
				t.Errorf("%s: got %v rows, want at most %d", c.name, made, rows)
			}
			config.NgramBase++
			if more, err := synth.Rows(&config); err != nil || slices.Max(more) <= rows {
				t.Errorf("%s, %d rows: base %d makes %v, but %d would still fit with %v (%v)", c.name, rows, base, made, config.NgramBase, more, err)
			}
		}
	}
	g := must(synth.Released())
	if _, _, err := g.SetRows(383); !errors.Is(err, synth.ErrGeometry) || !strings.Contains(err.Error(), "at least 384") {
		t.Errorf("too few rows: got %v", err)
	}
	if base, made, err := g.SetRows(320_001_536); err != nil || base != 20_000_000 || made[0] != 320_001_536 {
		t.Errorf("the geometry's own rows: got base %d, %v, %v; want it unchanged", base, made, err)
	}
	dense := packtest.Tiny()
	dense.PLELayerIDs = nil
	if _, _, err := geometry(t, dense, packtest.Options{}).SetRows(1000); !errors.Is(err, synth.ErrGeometry) {
		t.Errorf("no table: got %v", err)
	}
}

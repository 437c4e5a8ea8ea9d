package model_test

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/ple"
)

// Tolerances of the packs in testdata/hf. Both sides compute in float32 but sum in other orders (the reference's delta
// rule goes in chunks of 64), so that they differ by rounding alone: eager and sdpa attention of the reference itself are
// up to 6e-6 apart in logits of up to 12 (golden.json, "sdpa"), and the closest choice of any pack has a gap of 3e-4
// ("gaps"). The limits are ten times what was seen here (4e-6 and 1e-6); a wrong epsilon of one norm is far over them.
const (
	hfLogitsWithin = 5e-5 // absolute
	hfStatesWithin = 1e-5 // relative to the row's largest value
	hfNoise        = 5e-5 // were the reference noisier than this, or a choice closer, the test would depend on luck
)

// hfGolden is golden.json of a pack; testdata/hf/make.py describes it.
type hfGolden struct {
	Gaps    map[string]float64  `json:"gaps"`
	Sparse  int                 `json:"sparse"`
	SDPA    float64             `json:"sdpa"`
	Prompts map[string]hfPrompt `json:"prompts"`
}

type hfPrompt struct {
	IDs    []int32                         `json:"ids"`
	ArgMax []int32                         `json:"argmax"`
	Logits [][]float32                     `json:"logits"`
	Layers map[string]map[string][]float32 `json:"layers"`
	Final  map[string][]float32            `json:"final"`
	Rows   map[string][][]int64            `json:"rows"`
	Blocks map[string][][]int32            `json:"blocks"`
}

// TestHF compares small random models of unusual geometries with what transformers computes for them: streams after each
// layer, logits, tokens, table rows and chosen blocks. Chunks of 1 and 7 rows must give the bits of one chunk.
func TestHF(t *testing.T) {
	for _, name := range []string{"two", "three", "yarn", "ramp", "plain"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", "hf", name)
			var g hfGolden
			modeltest.OpenGolden(t, dir).JSON("golden.json", &g)
			if g.Sparse == 0 || g.SDPA > hfNoise || len(g.Gaps) < 3 || len(g.Prompts) != 2 {
				t.Fatalf("golden.json is no test: %d choices of blocks, noise %g, gaps %v, %d prompts", g.Sparse, g.SDPA, g.Gaps, len(g.Prompts))
			}
			for what, gap := range g.Gaps {
				if gap < hfNoise {
					t.Fatalf("golden.json: the closest %s: got %g, want at least %g", what, gap, hfNoise)
				}
			}
			src, err := pack.Dir(dir)
			if err != nil {
				t.Fatal(err)
			}
			p := modeltest.Open(t, src)
			m := modeltest.Load(t, p, modeltest.CPU(t, 2))
			for what, want := range g.Prompts {
				t.Run(what, func(t *testing.T) {
					hfRows(t, p.Config, want)
					got := hfLogits(t, m, want.IDs, len(want.IDs))
					want.compare(t, got)
					for _, chunk := range []int{1, 7} {
						hfSame(t, chunk, hfLogits(t, m, want.IDs, chunk), got)
					}
				})
			}
		})
	}
}

func hfLogits(t *testing.T, m *model.Model, ids []int32, chunk int) *model.LogitsReport {
	t.Helper()
	r, err := model.Logits(context.Background(), m, ids, model.LogitsOptions{All: true, Layers: true, Chunk: chunk})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Logits) != len(ids) {
		t.Fatalf("got logits of %d positions, want %d", len(r.Logits), len(ids))
	}
	return r
}

// compare holds a run of the whole prompt in one chunk against the reference.
func (want *hfPrompt) compare(t *testing.T, got *model.LogitsReport) {
	t.Helper()
	for pos, row := range got.Logits {
		if best := modeltest.ArgMax(row); best != want.ArgMax[pos] {
			t.Errorf("position %d: got token %d, want %d", pos, best, want.ArgMax[pos])
		}
	}
	first, worst := len(want.IDs)-len(want.Logits), 0.0
	for i, row := range want.Logits {
		d := hfDiff(t, "logits", got.Logits[first+i], row)
		worst = max(worst, d)
		if !(d <= hfLogitsWithin) {
			t.Errorf("position %d: logits: got %.3g away, want %.3g", first+i, d, hfLogitsWithin)
		}
	}
	states := 0.0
	check := func(name string, rows map[string][]float32) {
		for pos, row := range rows {
			d := hfDiff(t, name, got.Hidden[name][hfIndex(t, pos)], row) / modeltest.MaxDiff(row, make([]float32, len(row)))
			states = max(states, d)
			if !(d <= hfStatesWithin) {
				t.Errorf("%s at position %s: got %.3g away, want %.3g", name, pos, d, hfStatesWithin)
			}
		}
	}
	for layer, rows := range want.Layers {
		check("layer"+layer, rows)
	}
	check("final", want.Final)
	for layer, rows := range want.Blocks {
		for pos, blocks := range rows {
			if ids := got.SelectedBlocks[layer][strconv.Itoa(pos)]; !slices.Equal(ids, blocks) {
				t.Errorf("layer %s, position %d: got blocks %v, want %v", layer, pos, ids, blocks)
			}
		}
	}
	t.Logf("logits within %.2g, states within %.2g", worst, states)
}

// hfRows checks the n-gram table rows of every position.
func hfRows(t *testing.T, cfg pack.Config, want hfPrompt) {
	t.Helper()
	if len(want.Rows) != len(cfg.PLELayers) {
		t.Errorf("got %d PLE layers, want %d", len(cfg.PLELayers), len(want.Rows))
	}
	for k, layer := range cfg.PLELayers {
		consts, err := ple.Derive(cfg.NgramGeometry(), k)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := ple.NewHash(cfg.NgramGeometry(), consts)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int64, len(want.IDs)*hash.PerRow())
		hash.IDs(ids, nil, want.IDs)
		if rows := slices.Concat(want.Rows[strconv.Itoa(layer)]...); !slices.Equal(ids, rows) {
			t.Errorf("layer %d: table rows: got %v, want %v", layer, ids, rows)
		}
	}
}

// hfSame asks for the bits of a run in other chunks.
func hfSame(t *testing.T, chunk int, got, want *model.LogitsReport) {
	t.Helper()
	for pos := range want.Logits {
		if !slices.Equal(got.Logits[pos], want.Logits[pos]) {
			t.Errorf("chunks of %d: position %d: logits are %.3g away from those of one chunk, want the same bits",
				chunk, pos, modeltest.MaxDiff(got.Logits[pos], want.Logits[pos]))
			return
		}
	}
	for name, rows := range want.Hidden {
		for pos := range rows {
			if !slices.Equal(got.Hidden[name][pos], rows[pos]) {
				t.Errorf("chunks of %d: %s at position %d: not the bits of one chunk", chunk, name, pos)
				return
			}
		}
	}
	for layer, rows := range want.SelectedBlocks {
		for pos, blocks := range rows {
			if !slices.Equal(got.SelectedBlocks[layer][pos], blocks) {
				t.Errorf("chunks of %d: layer %s, position %s: got blocks %v, want %v", chunk, layer, pos, got.SelectedBlocks[layer][pos], blocks)
			}
		}
	}
}

func hfDiff(t *testing.T, what string, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	return modeltest.MaxDiff(got, want)
}

func hfIndex(t *testing.T, pos string) int {
	t.Helper()
	n, err := strconv.Atoi(pos)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

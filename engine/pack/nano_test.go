package pack_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
)

// open opens a folder and closes it with the test.
func open(t *testing.T, dir string) *pack.Pack {
	t.Helper()
	src, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// embedded is the folder of the pack that the binary embeds.
var embedded = filepath.Join("..", "..", "nano", "pack")

func TestNano(t *testing.T) {
	p := open(t, embedded)
	if p.Layout != pack.MLX || p.Config.Layers != 12 || p.Config.Count(pack.KindQSA) != 3 {
		t.Errorf("got %v, %d layers, %d of them QSA; want mlx, 12, 3", p.Layout, p.Config.Layers, p.Config.Count(pack.KindQSA))
	}
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	if ok, why := p.HasMTP(); !ok {
		t.Errorf("head: %s", why)
	}
	s := p.Summary()
	if len(s.Unused) > 0 {
		t.Errorf("unused: got %v", s.Unused)
	}
	// The figures of the model's card.
	if s.Params["mtp"] != 2097856 || s.Params["table"] != 5140480 || s.Params["trunk"]+s.Params["mtp"]+s.Params["table"] != 32537264 {
		t.Errorf("parameters: got %v, want 32537264 with mtp 2097856 and table 5140480", s.Params)
	}
	if got := p.Config.StopIDs; len(got) != 2 || got[0] != 8185 || got[1] != 8183 || p.Config.NgramEOS != 8183 {
		t.Errorf("stop ids: got %v and %d, want [8185 8183] and 8183", got, p.Config.NgramEOS)
	}
	if g := p.Generation; g.Temperature == nil || *g.Temperature != 0.6 || g.TopP == nil || *g.TopP != 0.95 || g.TopK == nil || *g.TopK != 20 {
		t.Errorf("generation: got %+v", g)
	}
	if _, ok, err := p.File("tokenizer.json"); !ok || err != nil {
		t.Errorf("tokenizer.json: got %t %v", ok, err)
	}
}

// The quantised pack stands for the bf16 one: what was not quantised is equal, the rest within a code's step.
func TestNanoAgainstBF16(t *testing.T) {
	shared := os.Getenv("FLASHLANE_GOLDEN_DIR")
	if shared == "" {
		t.Skip("SKIPPED: FLASHLANE_GOLDEN_DIR is not set, so the bf16 nano pack was NOT compared with the embedded one")
	}
	p := open(t, filepath.Join(shared, "pack", "nano"))
	if p.Layout != pack.HF {
		t.Fatalf("layout: got %v, want hf", p.Layout)
	}
	if err := p.Verify(); err != nil {
		t.Fatal(err)
	}
	ref, got := contents(t, p), contents(t, open(t, embedded))
	if len(ref) != len(got) {
		t.Errorf("got %d weights, want %d", len(got), len(ref))
	}
	for name, want := range ref {
		var sum, diff float64
		for i, v := range got[name] {
			sum += float64(want[i]) * float64(want[i])
			diff += float64(v-want[i]) * float64(v-want[i])
		}
		// Norms lose bits when 1+w is rounded to bf16; codes of 8 bits are off by a 1/255 of a group's range.
		if rel := math.Sqrt(diff / sum); !(rel < 0.012) {
			t.Errorf("%s: relative difference: got %g, want below 0.012", name, rel)
		}
	}
}

package model_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
)

// Tolerances of the issue: logits of the last positions absolute, hidden states relative to the tensor's largest value.
const (
	logitsWithin = 2e-3
	hiddenWithin = 1e-3
)

// TestGoldenNanoQ8 holds the embedded pack against vectors made by another implementation.
func TestGoldenNanoQ8(t *testing.T) {
	m := modeltest.Load(t, modeltest.Nano(t), modeltest.CPU(t, 2))
	golden(t, m, modeltest.OpenGolden(t, "testdata/nano-q8"))
}

// TestGoldenNanoBF16 does so for the bf16 pack, which is too large to keep here.
func TestGoldenNanoBF16(t *testing.T) {
	p, g := modeltest.NanoBF16(t)
	golden(t, modeltest.Load(t, p, modeltest.CPU(t, 2)), g)
}

type prompt struct {
	IDs    []int32 `json:"ids"`
	ArgMax int32   `json:"argmax_last"`
}

func golden(t *testing.T, m *model.Model, g modeltest.Golden) {
	var prompts map[string]prompt
	g.JSON("prompts.json", &prompts)
	t.Run("logits", func(t *testing.T) { goldenLogits(t, m, g, prompts) })
	t.Run("hidden", func(t *testing.T) { goldenHidden(t, m, g, prompts["chat_think"].IDs) })
	t.Run("blocks", func(t *testing.T) { goldenBlocks(t, m, g, prompts) })
	t.Run("greedy", func(t *testing.T) { goldenGreedy(t, m, g) })
}

// goldenLogits checks the last position's logits, and at every position listed the top token and the logits of the
// reference's top 20.
func goldenLogits(t *testing.T, m *model.Model, g modeltest.Golden, prompts map[string]prompt) {
	f := g.Tensors("logits.safetensors")
	for name, p := range prompts {
		t.Run(name, func(t *testing.T) {
			logits := modeltest.NewRunner(t, m, 128).Feed(p.IDs, 128, model.LogitsAll)
			last := logits[len(logits)-1]
			if got := modeltest.MaxDiff(last, f.Rows("last." + name)[0]); got > logitsWithin {
				t.Errorf("last position: got %.3g away, want %.3g", got, logitsWithin)
			}
			if got := modeltest.ArgMax(last); got != p.ArgMax {
				t.Errorf("last position: got token %d, want %d", got, p.ArgMax)
			}
			if last4 := "last." + name + "_last4"; f.Has(last4) {
				for i, want := range f.Rows(last4) {
					if got := modeltest.MaxDiff(logits[len(logits)-4+i], want); got > logitsWithin {
						t.Errorf("position %d: got %.3g away, want %.3g", len(logits)-4+i, got, logitsWithin)
					}
				}
			}
			ids, values := f.IntRows("top20_ids."+name), f.Rows("top20_logits."+name)
			for pos, row := range logits {
				if got := modeltest.ArgMax(row); got != ids[pos][0] {
					t.Errorf("position %d: got token %d, want %d", pos, got, ids[pos][0])
				}
				near := make([]float32, len(ids[pos]))
				for i, id := range ids[pos] {
					near[i] = row[id]
				}
				// A swapped block moves later logits by a few 1e-3 (testdata/nano-q8/ORIGIN.md).
				if got := modeltest.MaxDiff(near, values[pos]); got > 1e-2 {
					t.Errorf("position %d: top 20: got %.3g away, want 1e-2", pos, got)
				}
			}
		})
	}
}

func goldenHidden(t *testing.T, m *model.Model, g modeltest.Golden, ids []int32) {
	f := g.Tensors("hidden_chat_think.safetensors")
	r := modeltest.NewRunner(t, m, 64)
	r.Pass.Trace = model.NewTrace()
	r.Feed(ids, 64, model.LogitsAll)
	check := func(ours, theirs string) {
		t.Helper()
		want := f.Rows(theirs)
		scale := 0.0
		for _, row := range want {
			scale = max(scale, modeltest.MaxDiff(row, make([]float32, len(row))))
		}
		for pos, row := range want {
			got := r.Pass.Trace.Hidden[ours][pos]
			if len(got) != len(row) {
				t.Fatalf("%s at position %d: got %d values, want %d", ours, pos, len(got), len(row))
			}
			if d := modeltest.MaxDiff(got, row) / scale; !(d <= hiddenWithin) {
				t.Errorf("%s at position %d: got %.3g away, want %.3g", ours, pos, d, hiddenWithin)
			}
		}
	}
	check("embed", "embed")
	for i := range m.Layers {
		name := "layer" + strconv.Itoa(i)
		check(name, name+".out")
	}
	check("final", "final_mixer")
}

func goldenBlocks(t *testing.T, m *model.Model, g modeltest.Golden, prompts map[string]prompt) {
	var f struct {
		Layers map[string]map[string]struct {
			Rows map[string]struct {
				Blocks []int32 `json:"blocks"`
			} `json:"rows"`
		} `json:"layers"`
	}
	g.JSON("qsa_selection.json", &f)
	rows := 0
	for name, layers := range f.Layers {
		r := modeltest.NewRunner(t, m, 256)
		r.Pass.Trace = model.NewTrace()
		r.Feed(prompts[name].IDs, 256, model.LogitsNone)
		for layer, l := range layers {
			index, err := strconv.Atoi(layer)
			if err != nil {
				t.Fatal(err)
			}
			for row, want := range l.Rows {
				pos, err := strconv.Atoi(row)
				if err != nil {
					t.Fatal(err)
				}
				rows++
				if got := r.Pass.Trace.Blocks[index][pos]; !slices.Equal(got, want.Blocks) {
					t.Errorf("%s, layer %d, position %d: got blocks %v, want %v", name, index, pos, got, want.Blocks)
				}
			}
		}
	}
	if rows == 0 {
		t.Error("the golden file lists no selections")
	}
}

func goldenGreedy(t *testing.T, m *model.Model, g modeltest.Golden) {
	var f map[string]struct {
		Prompt []int32 `json:"prompt_ids"`
		Greedy []int32 `json:"greedy_64"`
	}
	g.JSON("greedy.json", &f)
	for name, c := range f {
		t.Run(name, func(t *testing.T) {
			r := modeltest.NewRunner(t, m, 128)
			logits := r.Feed(c.Prompt, 128, model.LogitsLast)
			var got []int32
			for range c.Greedy {
				next := modeltest.ArgMax(logits[len(logits)-1])
				got = append(got, next)
				logits = r.Feed([]int32{next}, 128, model.LogitsLast)
			}
			if !slices.Equal(got, c.Greedy) {
				t.Errorf("got  %v\nwant %v", got, c.Greedy)
			}
		})
	}
}

package model_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/tokenizer"
	"github.com/flashlane/flashlane/metal/cpu"
)

// TestFastDivergence states what precision fast loses: on held text the embedded pack's KL to exact is below 0.01 nats a token. The value
// itself is recorded, since equal bits give equal figures; it may only differ as far as exp and log do from machine to machine.
func TestFastDivergence(t *testing.T) {
	const want, most = 0.0026339, 0.01
	p := modeltest.Nano(t)
	var raw [2][]byte
	for i, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		var err error
		if raw[i], _, err = p.File(name); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := tokenizer.Load(raw[0], raw[1])
	if err != nil {
		t.Fatal(err)
	}
	exact := modeltest.Load(t, p, modeltest.CPU(t, 2))
	fast := modeltest.Load(t, p, modeltest.CPUWith(t, cpu.Options{Threads: 2, Precision: cpu.Fast}))
	var sum model.Divergence
	files, err := filepath.Glob("testdata/held/*.txt")
	if err != nil || len(files) != 2 {
		t.Fatalf("got %q, %v, want two files", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		d, err := model.TextDivergence(t.Context(), exact, fast, ids, 1024, 256)
		if err != nil {
			t.Fatal(err)
		}
		if d.Tokens != len(ids)-1 {
			t.Errorf("%s: got %d tokens compared, want %d", name, d.Tokens, len(ids)-1)
		}
		sum.Add(d)
	}
	t.Logf("%d tokens: KL %.6f nats a token, %.2f at worst; the same id most likely for %d", sum.Tokens, sum.Mean(), sum.Worst, sum.Same)
	if got := sum.Mean(); math.Abs(got-want) > 1e-6 || got >= most {
		t.Errorf("KL of fast to exact: got %.7f nats a token, want %.6f as recorded, and less than %g", got, want, most)
	}
}

// TextDivergence is 0 from a model to itself, does not depend on the chunk, and is what Logits says of two models.
func TestTextDivergence(t *testing.T) {
	m := loadTiny(t)
	ids := text(100, m.Config.Vocab)
	same, err := model.TextDivergence(t.Context(), m, m, ids, 33, 8)
	if want := (model.Divergence{Tokens: 99, Same: 99}); err != nil || same != want {
		t.Errorf("a model and itself: got %+v, %v, want %+v", same, err, want)
	}
	fast := modeltest.Load(t, modeltest.Nano(t), modeltest.CPUWith(t, cpu.Options{Precision: cpu.Fast}))
	exact := modeltest.Load(t, modeltest.Nano(t), modeltest.CPU(t, 2))
	ids = text(40, exact.Config.Vocab)
	got, err := model.TextDivergence(t.Context(), exact, fast, ids, 33, 8)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := model.TextDivergence(t.Context(), exact, fast, ids, 33, 256); err != nil || again != got {
		t.Errorf("another chunk: got %+v, %v, want %+v", again, err, got)
	}
	sum, worst, agree := 0.0, 0.0, 0
	for from := 0; from+1 < len(ids); from += 33 {
		in := ids[from:min(from+33, len(ids)-1)]
		var rows [2][][]float32
		for i, m := range []*model.Model{exact, fast} {
			r, err := model.Logits(t.Context(), m, in, model.LogitsOptions{All: true})
			if err != nil {
				t.Fatal(err)
			}
			rows[i] = r.Logits
		}
		for i := range in {
			var sums [2]float64
			var top [2]int
			for j := range rows {
				for k, x := range rows[j][i] {
					sums[j] += math.Exp(float64(x))
					if x > rows[j][i][top[j]] {
						top[j] = k
					}
				}
			}
			kl := 0.0
			for k, x := range rows[0][i] {
				kl += math.Exp(float64(x)) / sums[0] * (float64(x) - math.Log(sums[0]) - float64(rows[1][i][k]) + math.Log(sums[1]))
			}
			sum, worst = sum+kl, max(worst, kl)
			if top[0] == top[1] {
				agree++
			}
		}
	}
	if got.Tokens != 39 || got.Same != agree || math.Abs(got.Nats-sum) > 1e-9*sum || math.Abs(got.Worst-worst) > 1e-9 || sum == 0 {
		t.Errorf("got %+v, want 39 tokens, %.12f nats, %.12f at worst, %d the same", got, sum, worst, agree)
	}
	if _, err := model.TextDivergence(t.Context(), exact, m, ids, 8, 8); err == nil || !strings.Contains(err.Error(), "vocabulary: got 256") {
		t.Errorf("another vocabulary: got %v", err)
	}
	if _, err := model.TextDivergence(t.Context(), m, m, ids, 0, 8); err == nil || !strings.Contains(err.Error(), "window: got 0") {
		t.Errorf("no window: got %v", err)
	}
}

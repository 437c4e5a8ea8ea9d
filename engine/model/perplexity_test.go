package model_test

import (
	"math"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal/cpu"
)

// text is so many ids of a vocabulary.
func text(n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*i*31 + i*7) % vocab)
	}
	return ids
}

func loadTiny(t *testing.T) *model.Model {
	t.Helper()
	dev, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Load(packtest.Open(t, packtest.Tiny(), 4, packtest.Options{}), dev, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); dev.Close() })
	return m
}

// TextLoss is what Logits says window by window: the slow twin runs each window by itself and takes a plain softmax.
func TestTextLoss(t *testing.T) {
	m := loadTiny(t)
	ids := text(100, m.Config.Vocab)
	for _, window := range []int{1, 7, 33, 99, 100, 500} {
		got, err := model.TextLoss(t.Context(), m, ids, window, 256)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for from := 0; from+1 < len(ids); from += window {
			in := ids[from:min(from+window, len(ids)-1)]
			r, err := model.Logits(t.Context(), m, in, model.LogitsOptions{All: true})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range r.Logits {
				sum := 0.0
				for _, x := range row {
					sum += math.Exp(float64(x))
				}
				want -= math.Log(math.Exp(float64(row[ids[from+i+1]])) / sum)
			}
		}
		if got.Tokens != 99 || math.Abs(got.Nats-want) > 1e-9*want {
			t.Errorf("window %d: got %d tokens, %.12f nats; want 99 and %.12f", window, got.Tokens, got.Nats, want)
		}
		if math.Abs(got.Perplexity()-math.Exp(want/99)) > 1e-9*got.Perplexity() {
			t.Errorf("perplexity: got %g, want %g", got.Perplexity(), math.Exp(want/99))
		}
		for _, chunk := range []int{1, 5, 32} {
			if again, err := model.TextLoss(t.Context(), m, ids, window, chunk); err != nil || again != got {
				t.Errorf("window %d, chunk %d: got %+v %v, want %+v to the bit", window, chunk, again, err, got)
			}
		}
	}
}

func TestTextLossEdges(t *testing.T) {
	m := loadTiny(t)
	for _, ids := range [][]int32{nil, {5}} {
		if got, err := model.TextLoss(t.Context(), m, ids, 8, 8); err != nil || got.Tokens != 0 {
			t.Errorf("%v: got %+v %v, want nothing predicted", ids, got, err)
		}
	}
	for _, c := range []struct {
		ids           []int32
		window, chunk int
		want          string
	}{
		{text(9, 256), 0, 8, "window: got 0"},
		{text(9, 256), 1 << 20, 8, "window: got 1048576"},
		{text(9, 256), 8, 0, "chunk: got 0"},
		{[]int32{1, 256}, 8, 8, "got 256, want 0 to 255"},
		{[]int32{1, -1}, 8, 8, "got -1, want 0 to 255"},
	} {
		if _, err := model.TextLoss(t.Context(), m, c.ids, c.window, c.chunk); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("window %d, chunk %d: got %v, want %q", c.window, c.chunk, err, c.want)
		}
	}
}

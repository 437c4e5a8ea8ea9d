package synth_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/synth"
)

// bases are config.json texts to bend: of odd sizes, nested, and the released one.
func bases(t testing.TB) (out [][]byte) {
	t.Helper()
	for _, b := range []struct {
		g packtest.Geometry
		o packtest.Options
	}{{packtest.Odd(), packtest.Options{WithMTP: true}}, {packtest.Tiny(), packtest.Options{Layout: pack.MLX, Bits: 8}}} {
		files, err := packtest.Files(b.g, 1, b.o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, []byte(files["config.json"]))
	}
	released, err := os.ReadFile("released.json")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, released)
}

// bend changes a config.json by edits of three bytes: what, where, and to which value. Most keep a geometry that can be: whatever the
// bytes, the layers' kinds are as many as the layers.
func bend(t testing.TB, config, edits []byte) []byte {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(config, &root); err != nil {
		t.Fatal(err)
	}
	text := root
	if inner, ok := root["text_config"].(map[string]any); ok {
		text = inner
	}
	for ; len(edits) >= 3; edits = edits[3:] {
		what, where, value := edits[0], edits[1], int(edits[2])
		keys := slices.Sorted(maps.Keys(text))
		key := keys[int(where)%len(keys)]
		switch what % 8 {
		case 0: // so many layers, every n-th with attention
			layers, every := 1+value%32, 1+int(where)%6
			text["num_hidden_layers"] = layers
			delete(text, "layer_types")
			text["full_attention_interval"] = every
		case 1: // so many layers, each of a kind of its own
			kinds := make([]string, 1+value%16)
			for i := range kinds {
				kinds[i] = [...]string{"linear_attention", "full_attention"}[int(where)>>(i%8)&1]
			}
			text["num_hidden_layers"], text["layer_types"] = len(kinds), kinds
		case 2: // PLE layers by the bits of value
			ids := []int{}
			for i := range 8 {
				if value>>i&1 == 1 {
					ids = append(ids, i+1)
				}
			}
			text["ple_layer_ids"] = ids
		case 3: // sizes of the n-gram tables
			k := [...]string{"ngram_vocab_size_base", "make_ngram_vocab_size_divisible_by", "seed"}[int(where)%3]
			text[k] = 2 + value*(1+int(where)/3)
		case 4: // heads of a row, which divide its width
			heads := 1 + value%8
			text["heads_per_ngram"], text["ngram_size"] = heads, 2+int(where)%3
			text["ple_embed_dim"] = heads * (1 + int(where)%3) * 8
		case 5: // any number, to a small one
			if _, ok := text[key].(float64); ok {
				text[key] = value
			}
		case 6: // any number, to a multiple
			if x, ok := text[key].(float64); ok {
				text[key] = int64(x) * int64(1+value%4)
			}
		case 7:
			if value%2 == 0 {
				delete(text, key)
			} else {
				text[key] = nil
			}
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// depth is how far checkGeometry came.
type depth struct{ parsed, cut, rows bool }

// checkGeometry cuts a config to so many layers and rows; what is taken has them, and is a config again.
func checkGeometry(t testing.TB, config []byte, layers int, rows int64) (d depth) {
	t.Helper()
	g, err := synth.Parse(config)
	if err != nil {
		return d
	}
	d.parsed = true
	c, err := g.Config()
	if err != nil {
		t.Fatalf("its own text: %v", err)
	}
	if c.NgramHeads()*len(c.PLELayers) > 64 {
		return d // thousands of primes take their time
	}
	rows %= 1 << 14 // and so do large ones
	if err := g.Cut(layers); err == nil {
		d.cut = true
		if c, err = g.Config(); err != nil || c.Layers != layers || c.Count(pack.KindQSA) == 0 {
			t.Fatalf("cut to %d: got %d layers, %v", layers, c.Layers, err)
		}
	}
	if _, made, err := g.SetRows(rows); err == nil {
		d.rows = true
		if c, err = g.Config(); err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if got, err := synth.Rows(&c); err != nil || !slices.Equal(got, made) || slices.Max(made) > rows {
			t.Fatalf("%d rows: got %v, said %v (%v)", rows, got, made, err)
		}
	}
	return d
}

// TestBentGeometries: random edits reach every step, often enough for the fuzzer to go on from them.
func TestBentGeometries(t *testing.T) {
	rng, texts := rand.New(rand.NewPCG(26, 1)), bases(t)
	const tries = 240
	var parsed, cut, rows int
	for i := range tries {
		edits := make([]byte, 3*(1+rng.IntN(4)))
		for j := range edits {
			edits[j] = byte(rng.Uint32())
		}
		config := bend(t, texts[i%len(texts)], edits)
		d := checkGeometry(t, config, 1+rng.IntN(16), rng.Int64N(1<<14))
		for _, c := range []struct {
			n  *int
			is bool
		}{{&parsed, d.parsed}, {&cut, d.cut}, {&rows, d.rows}} {
			if c.is {
				*c.n++
			}
		}
	}
	said := fmt.Sprintf("of %d: %d parsed, %d cut, %d with other rows", tries, parsed, cut, rows)
	t.Log(said)
	if parsed < tries/3 || cut < tries/10 || rows < tries/5 {
		t.Errorf("got %s, want a third, a tenth and a fifth at least", said)
	}
}

// Whatever config.json is given, a geometry that is taken stays one that is taken, cut or not, and its tables keep their bound.
func FuzzGeometry(f *testing.F) {
	texts := bases(f)
	for i := range texts {
		f.Add(uint8(i), []byte{}, 3, int64(1000))
		for what := range 8 {
			f.Add(uint8(i), []byte{byte(what), byte(3 * what), 5}, 6, int64(5000))
			f.Add(uint8(i), []byte{byte(what), 1, 7, byte(what + 2), 2, 6}, 9, int64(-1))
		}
	}
	f.Add(uint8(len(texts)), []byte(`{"text_config": null}`), 0, int64(0))
	f.Fuzz(func(t *testing.T, base uint8, edits []byte, layers int, rows int64) {
		config := edits // or any text at all
		if int(base) < len(texts) {
			config = bend(t, texts[base], edits)
		}
		checkGeometry(t, config, layers, rows)
	})
}

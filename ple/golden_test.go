package ple_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// tensor is an entry of a safetensors header; Offsets count from the header's end.
type tensor struct {
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// header reads a safetensors header; offsets become file offsets.
func header(t *testing.T, f *os.File) map[string]tensor {
	t.Helper()
	var n [8]byte
	if _, err := f.ReadAt(n[:], 0); err != nil {
		t.Fatal(err)
	}
	size := int64(binary.LittleEndian.Uint64(n[:]))
	raw := map[string]json.RawMessage{}
	if err := json.NewDecoder(io.NewSectionReader(f, 8, size)).Decode(&raw); err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	out := map[string]tensor{}
	for name, r := range raw {
		if name == "__metadata__" {
			continue
		}
		var x tensor
		if err := json.Unmarshal(r, &x); err != nil {
			t.Fatalf("%s: %s: %v", f.Name(), name, err)
		}
		x.Offsets[0] += 8 + size
		x.Offsets[1] += 8 + size
		out[name] = x
	}
	return out
}

// The embeddings of a real prompt, from the real tables of both nano packs through hash, cache and dequantisation, equal
// HF's to the bit (golden layer1.ple_embedding).
func TestGoldenEmbedding(t *testing.T) {
	dir := os.Getenv("FLASHLANE_GOLDEN_DIR")
	if dir == "" {
		t.Skip("FLASHLANE_GOLDEN_DIR is not set: the embeddings of the nano packs are NOT checked against HF's")
	}
	open := func(name string) (*os.File, map[string]tensor) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f, header(t, f)
	}
	for name, tc := range map[string]struct {
		golden, file string
		planes       []string
	}{
		"sharded":  {"golden/nano", "pack/nano/model.safetensors", shardNames(4)},
		"side-car": {"golden/nano-q8", "pack/nano-q8/ngram-table.safetensors", []string{"ngram.weight"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, tensors := open(tc.file)
			spec := ple.TableSpec{Name: name, Format: metal.FormatBF16}
			for _, p := range tc.planes {
				x, ok := tensors[p]
				if !ok {
					t.Fatalf("%s: no tensor %s", tc.file, p)
				}
				spec.Rows, spec.Dim = spec.Rows+x.Shape[0], int(x.Shape[1])
				spec.Shards = append(spec.Shards, ple.Shard{Rows: x.Shape[0], Weight: ple.Span{File: f, Off: x.Offsets[0], Len: x.Offsets[1] - x.Offsets[0]}})
			}
			table, err := ple.OpenTable(spec)
			if err != nil {
				t.Fatal(err)
			}
			var prompts map[string]struct{ IDs []int32 }
			b, err := os.ReadFile(filepath.Join(dir, tc.golden, "prompts.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &prompts); err != nil {
				t.Fatal(err)
			}
			tokens := prompts["chat_think"].IDs
			g := ple.Geometry{Vocab: 8192, NgramSize: 3, Heads: 8, Base: 20000, Divisor: 128, Seed: 1234, EOS: 8183, Dim: 256}
			c, err := ple.Derive(g, 0)
			if err != nil {
				t.Fatal(err)
			}
			hash, err := ple.NewHash(g, c)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]int64, len(tokens)*hash.PerRow())
			hash.IDs(ids, nil, tokens)
			cache := newCache(t, table, 100, ple.CacheOptions{})
			raw := make([]byte, len(ids)*table.RowBytes())
			if err := cache.Gather(context.Background(), new(ple.Scratch), raw, ids); err != nil {
				t.Fatal(err)
			}
			got := make([]float32, len(ids)*table.Dim())
			for i := range ids {
				table.Dequant(got[i*table.Dim():(i+1)*table.Dim()], raw[i*table.RowBytes():(i+1)*table.RowBytes()])
			}
			gf, gt := open(tc.golden + "/hidden_chat_think.safetensors")
			want := gt["layer1.ple_embedding"]
			if want.Shape == nil || want.Shape[0] != int64(len(tokens)) || want.Shape[1] != 256 {
				t.Fatalf("golden: got shape %v for %d tokens", want.Shape, len(tokens))
			}
			values := make([]byte, want.Offsets[1]-want.Offsets[0])
			if _, err := gf.ReadAt(values, want.Offsets[0]); err != nil {
				t.Fatal(err)
			}
			for i, x := range got {
				if w := math.Float32frombits(binary.LittleEndian.Uint32(values[4*i:])); x != w {
					t.Fatalf("token %d, value %d: got %v, want %v", i/256, i%256, x, w)
				}
			}
		})
	}
}

func shardNames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "model.layers.1.ple.ple_embedding.ngram_embedding.shard_"+string(rune('0'+i))+".weight")
	}
	return out
}

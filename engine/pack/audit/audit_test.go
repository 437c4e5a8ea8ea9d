package audit_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/audit"
	"github.com/flashlane/flashlane/engine/pack/convert"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// written is a small pack that convert wrote, manifest and all, as files in memory.
func written(t testing.TB, recipe string) map[string]string {
	t.Helper()
	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{WithMTP: true})
	source, err := convert.From(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quantise.ByName(recipe)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := mlx.NewPlan(&p.Config, source, mlx.Options{Recipe: r, Head: true})
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := p.File("config.json")
	if err != nil {
		t.Fatal(err)
	}
	if config, err = plan.Config(config); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	texts := map[string][]byte{"config.json": config, "LICENSE": []byte("a licence")}
	if err := plan.Write(t.Context(), out, texts, manifest.Manifest{Made: "a test"}, nil); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// faults audits a pack: every fault as a line "step: text", or what Open said.
func faults(t testing.TB, src pack.Source) []string {
	t.Helper()
	p, err := pack.Open(src)
	if err != nil {
		return []string{"open: " + err.Error()}
	}
	defer p.Close()
	a := audit.New(p)
	for _, j := range a.Jobs() {
		if err := j.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, s := range a.Steps() {
		for _, f := range s.Faults {
			out = append(out, s.Name+": "+f.Error())
		}
	}
	return out
}

// Packs that are whole have no fault: with a manifest, without, of both layouts, with and without a head and PLE.
func TestWhole(t *testing.T) {
	for _, recipe := range quantise.Names() {
		if got := faults(t, pack.Files("whole", written(t, recipe))); len(got) > 0 {
			t.Errorf("%s: got %v", recipe, got)
		}
	}
	dense := packtest.Tiny()
	dense.PLELayerIDs = nil
	for name, make := range map[string]func() (map[string]string, error){
		"hf": func() (map[string]string, error) {
			return packtest.Files(packtest.Odd(), 1, packtest.Options{WithMTP: true, TableShards: 10, HashBuffers: true})
		},
		"mlx": func() (map[string]string, error) {
			return packtest.Files(packtest.Tiny(), 1, packtest.Options{Layout: pack.MLX, Bits: 4, TableBits: 8})
		},
		"without PLE": func() (map[string]string, error) { return packtest.Files(dense, 1, packtest.Options{}) },
		"f32, sharded": func() (map[string]string, error) {
			return packtest.Files(packtest.Tiny(), 1, packtest.Options{DType: pack.F32, Shards: 3})
		},
	} {
		files, err := make()
		if err != nil {
			t.Fatal(err)
		}
		// They have no tokenizer, and nothing that says so.
		if got := faults(t, pack.Files(name, files)); len(got) != 1 || got[0] != noTokenizer {
			t.Errorf("%s: got %v, want %q only", name, got, noTokenizer)
		}
	}
}

const noTokenizer = "text: tokenizer.json: got no such file, want one: the pack cannot be served"

// data is where the data of a safetensors file begins.
func data(file string) int {
	return 8 + int(file[0]) + int(file[1])<<8 + int(file[2])<<16
}

// put overwrites bytes of a file.
func put(files map[string]string, name string, at int, b ...byte) {
	f := []byte(files[name])
	copy(f[at:], b)
	files[name] = string(f)
}

func TestFaults(t *testing.T) {
	const trunk, table = "model.safetensors", "ngram-table.safetensors"
	for _, c := range []struct {
		name   string
		change func(f map[string]string)
		want   []string // parts of one fault
	}{
		{"a byte of a tensor", func(f map[string]string) { put(f, trunk, len(f[trunk])-1, f[trunk][len(f[trunk])-1]^1) },
			[]string{"checksums: ", trunk, "tensor ", "got SHA-256", "want"}},
		{"a byte of the table", func(f map[string]string) { put(f, table, data(f[table])+7, f[table][data(f[table])+7]^1) },
			[]string{"checksums: ", table, `"ngram.weight"`, "got SHA-256"}},
		{"metadata in a header", func(f map[string]string) {
			f[trunk] = strings.Replace(f[trunk], `"format": "mlx"`, `"format": "MLX"`, 1)
		},
			[]string{"checksums: ", trunk, "header: got SHA-256"}},
		{"a text", func(f map[string]string) { f["LICENSE"] = "a Licence" }, []string{"checksums: ", "LICENSE: got SHA-256"}},
		{"a longer text", func(f map[string]string) { f["LICENSE"] += "!" }, []string{"checksums: ", "LICENSE: got 10 bytes, want 9"}},
		{"a missing text", func(f map[string]string) { delete(f, "LICENSE") }, []string{"checksums: ", "LICENSE: got no such file"}},
		{"a missing head", func(f map[string]string) { delete(f, "mtp.safetensors") }, []string{"MTP head: ", "mtp.safetensors", "no such file"}},
		{"bytes after the last tensor", func(f map[string]string) { f[trunk] += "12345678" }, []string{"open: ", trunk, "8 bytes after tensor", "belong to no tensor"}},
		{"a stray file", func(f map[string]string) { f["model-00001-of-00002.safetensors"] = f["mtp.safetensors"] },
			[]string{"headers: ", "model-00001-of-00002.safetensors: got a file that neither"}},
		{"a stray file of nothing", func(f map[string]string) { f["x.safetensors"] = "" }, []string{"headers: ", "x.safetensors"}},
		{"a tensor of nothing", func(f map[string]string) { f[trunk] = withTensor(f[trunk], "stray.weight") },
			[]string{"model: ", trunk, `tensor "stray.weight": got a tensor that is no piece of the model`}},
		{"two kinds of quantisation", func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"quantization": {`, `"quantization_config": {"bits": 3, "group_size": 32}, "quantization": {`, 1)
		}, []string{"open: ", "config.json: quantization and config.json: quantization_config contradict each other: got 4 bits in groups of 32", "and 3 bits"}},
		{"a head that is named and not there", func(f map[string]string) {
			delete(f, "mtp.safetensors")
			f["config.json"] = strings.Replace(f["config.json"], `"mtp_num_hidden_layers"`, `"other"`, 1)
		}, []string{"MTP head: config.json says that there is a head", "names mtp.safetensors"}},
		{"codes that config.json says nothing of", func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"quantization": {`, `"other": {`, 1)
		}, []string{"model: ", "config.json: quantization: got nothing for", `such as "embed_tokens"`}},
		{"no tokenizer, and no manifest that knows", func(f map[string]string) { delete(f, manifest.Name) }, []string{"text: ", "tokenizer.json: got no such file"}},
		{"cut short", func(f map[string]string) { f[trunk] = f[trunk][:len(f[trunk])-2] }, []string{"open: ", trunk, "data_offsets"}},
		{"no manifest sense", func(f map[string]string) { f[manifest.Name] = "{}" }, []string{"checksums: ", manifest.Name, "got 0, want 1"}},
		{"a name out of the folder", func(f map[string]string) {
			f[manifest.Name] = strings.Replace(f[manifest.Name], `"LICENSE"`, `"../x"`, 1)
		},
			[]string{"checksums: ", `"../x"`, "plain file name"}},
		{"a file not listed", func(f map[string]string) { list(f, func(m *manifest.Manifest) { delete(m.Files, table) }) },
			[]string{"checksums: ", table, "is not in " + manifest.Name}},
		{"a tensor not listed", func(f map[string]string) {
			list(f, func(m *manifest.Manifest) { delete(m.Files[table].Tensors, "ngram.weight") })
		},
			[]string{"checksums: ", table, `tensor "ngram.weight": is not in ` + manifest.Name}},
		{"a listed tensor that is not there", func(f map[string]string) {
			list(f, func(m *manifest.Manifest) { m.Files[table].Tensors["more"] = manifest.Sparse })
		}, []string{"checksums: ", table, `tensor "more": got none`}},
		{"a hole that is none", func(f map[string]string) {
			list(f, func(m *manifest.Manifest) { m.Files[table].Tensors["ngram.weight"] = manifest.Sparse })
		}, []string{"checksums: ", table, `"ngram.weight"`, "want a hole of zeros"}},
		{"a NaN", func(f map[string]string) { delete(f, manifest.Name); put(f, table, data(f[table])+20, 0xff, 0x7f) },
			[]string{"numbers: ", table, `tensor "ngram.weight": element 10 of shape [`, "got NaN"}},
		{"an infinite scale", func(f map[string]string) {
			delete(f, manifest.Name)
			put(f, trunk, data(f[trunk]), 0x80, 0xff) // biases of lm_head come first
		}, []string{"numbers: ", `tensor "language_model.lm_head.biases": element 0`, "got -Inf"}},
		{"constants of another seed", func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"vocab_size"`, `"seed": 9, "vocab_size"`, 1)
		}, []string{"n-gram hash: ", "layer_multipliers[0]: got "}},
		{"quantisation of nothing", func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"mode": "affine"`, `"mode": "affine", "language_model.model.layers.99.x": {"bits": 4, "group_size": 32}`, 1)
		}, []string{"model: ", "config.json", `"layers.99.x"`}},
		{"other bits than the config says", func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"group_size": 32`, `"group_size": 64`, 1)
		}, []string{"model: ", "groups of 32 by its shapes, want"}},
		{"a tokenizer for a larger vocabulary", func(f map[string]string) { f["tokenizer.json"] = tokenizerFile(t) },
			[]string{"text: ", "tokenizer.json: highest id: got 8191, want below vocab_size 256"}},
		{"no tokenizer at all", func(f map[string]string) { f["tokenizer.json"] = "[]" }, []string{"text: ", "tokenizer.json"}},
	} {
		files := maps.Clone(written(t, "optimized-speed"))
		c.change(files)
		got := faults(t, pack.Files("bent", files))
		if !slices.ContainsFunc(got, func(line string) bool {
			return !slices.ContainsFunc(c.want, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			t.Errorf("%s: got %q, want a fault with %q", c.name, got, c.want)
		}
	}
}

// withTensor puts a tensor of no elements into the header of a safetensors file.
func withTensor(file, name string) string {
	end := data(file)
	header := `{"` + name + `":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},` + strings.TrimRight(file[9:end], " ")
	header += strings.Repeat(" ", -len(header)&7)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + file[end:]
}

// list changes the manifest.
func list(files map[string]string, change func(m *manifest.Manifest)) {
	m, err := manifest.Parse([]byte(files[manifest.Name]))
	if err != nil {
		panic(err)
	}
	change(&m)
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	files[manifest.Name] = string(text)
}

func tokenizerFile(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "nano", "pack", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// No byte of a pack with a manifest can change without a fault.
func TestEveryByteCounts(t *testing.T) {
	whole := written(t, "q8")
	rng := rand.New(rand.NewPCG(20260829, 5))
	for name := range whole {
		if name == manifest.Name { // it may say anything about who made it
			continue
		}
		for range 12 {
			files := maps.Clone(whole)
			at, bit := rng.IntN(len(files[name])), byte(1)<<rng.IntN(8)
			put(files, name, at, files[name][at]^bit)
			if got := faults(t, pack.Files("flipped", files)); len(got) == 0 {
				t.Errorf("%s: byte %d xor %#x: got no fault", name, at, bit)
			}
		}
	}
}

// Whatever becomes of the files, an audit ends, and a file that differs from what was written has a fault.
func FuzzAudit(f *testing.F) {
	whole := written(f, "optimized-speed")
	names := slices.Sorted(maps.Keys(whole))
	f.Add(uint8(1), uint32(9), []byte("x"))
	f.Add(uint8(2), uint32(0), []byte{255, 255})
	f.Add(uint8(3), uint32(8), []byte(`{"a":`))
	f.Fuzz(func(t *testing.T, file uint8, at uint32, with []byte) {
		files := maps.Clone(whole)
		name := names[int(file)%len(names)]
		put(files, name, int(at)%len(files[name]), with...)
		got := faults(t, pack.Files("fuzzed", files))
		if files[name] != whole[name] && name != manifest.Name && len(got) == 0 {
			t.Fatalf("%s: changed at %d to %q: got no fault", name, at, with)
		}
	})
}

// broken is a source whose files end early when they are read by position.
type broken struct {
	pack.Source
	reads int // bytes that can be read of each file
}

func (b broken) Open(name string) (*pack.Blob, error) {
	blob, err := b.Source.Open(name)
	if err == nil && strings.HasSuffix(name, ".safetensors") {
		blob.Mapped, blob.File = true, io.NewSectionReader(strings.NewReader(string(blob.Data[:min(b.reads, len(blob.Data))])), 0, int64(b.reads))
	}
	return blob, err
}

// A file that is shorter than it was when the pack was opened is a fault of the tensors that are gone, and an error of a
// conversion.
func TestShortReads(t *testing.T) {
	files, err := packtest.Files(packtest.Tiny(), 1, packtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := broken{pack.Files("shrunk", files), 100_000}
	got := slices.DeleteFunc(faults(t, src), func(s string) bool { return s == noTokenizer })
	if len(got) == 0 || !strings.HasPrefix(got[0], "numbers: model.safetensors: tensor ") || !strings.Contains(got[0], "unexpected EOF") {
		t.Errorf("got %v, want unexpected ends", got)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	source, err := convert.From(p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quantise.ByName("q8")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := mlx.NewPlan(&p.Config, source, mlx.Options{Recipe: r})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	err = plan.Write(t.Context(), out, map[string][]byte{"config.json": []byte("{}")}, manifest.Manifest{}, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "tensor \"model.") {
		t.Errorf("got %v, want an unexpected end that names the tensor", err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("left behind: got %v %v, want nothing", left, err)
	}
}

// A cancelled audit stops.
func TestCancel(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := audit.New(p).Jobs()[0].Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it cancelled", err)
	}
}

package pack_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// editor changes a pack in memory before it is opened.
type editor struct {
	t     *testing.T
	files map[string]string
}

func edit(t *testing.T, g packtest.Geometry, o packtest.Options) *editor {
	t.Helper()
	files, err := packtest.Files(g, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	return &editor{t, files}
}

func (e *editor) open() (*pack.Pack, error) { return pack.Open(pack.Files("bent", e.files)) }

// config changes fields of config.json's root; a nil value deletes one.
func (e *editor) config(changes map[string]any) {
	e.t.Helper()
	e.json("config.json", changes)
}

func (e *editor) json(name string, changes map[string]any) {
	e.t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(e.files[name]), &m); err != nil {
		e.t.Fatal(err)
	}
	for k, v := range changes {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		e.t.Fatal(err)
	}
	e.files[name] = string(out)
}

type entry struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// header changes a safetensors header in place: the data stays, and bytes that have lost their tensor get one of no meaning.
func (e *editor) header(name string, change func(h map[string]*entry)) {
	e.t.Helper()
	text := e.files[name]
	n := binary.LittleEndian.Uint64([]byte(text[:8]))
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text[8:8+n]), &raw); err != nil {
		e.t.Fatal(err)
	}
	meta := raw["__metadata__"]
	delete(raw, "__metadata__")
	h := map[string]*entry{}
	for k, v := range raw {
		h[k] = &entry{}
		if err := json.Unmarshal(v, h[k]); err != nil {
			e.t.Fatal(err)
		}
	}
	change(h)
	fill(h, int64(len(text))-8-int64(n))
	out := map[string]any{"__metadata__": meta}
	for k, v := range h {
		out[k] = v
	}
	head, err := json.Marshal(out)
	if err != nil {
		e.t.Fatal(err)
	}
	e.files[name] = string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + string(head) + text[8+n:]
}

// fill gives every byte that no tensor claims to one.
func fill(h map[string]*entry, size int64) {
	at, spans := int64(0), slices.SortedFunc(maps.Values(h), func(a, b *entry) int { return cmp.Compare(a.Offsets[0], b.Offsets[0]) })
	for _, s := range append(spans, &entry{Offsets: []int64{size, size}}) {
		if hole := s.Offsets[0] - at; hole > 0 {
			h[fmt.Sprintf("filler.%d", at)] = &entry{"U8", []int64{hole}, []int64{at, at + hole}}
		}
		at = max(at, s.Offsets[1])
	}
}

func TestBrokenPacks(t *testing.T) {
	const main = "model.safetensors"
	drop := func(file, name string) func(e *editor) {
		return func(e *editor) {
			e.header(file, func(h map[string]*entry) {
				if h[name] == nil {
					e.t.Fatalf("no tensor %q to drop", name)
				}
				delete(h, name)
			})
		}
	}
	alter := func(file, name string, f func(x *entry)) func(e *editor) {
		return func(e *editor) { e.header(file, func(h map[string]*entry) { f(h[name]) }) }
	}
	hf, mlx := packtest.Options{WithMTP: true}, packtest.Options{WithMTP: true, Layout: pack.MLX, Bits: 8}
	for _, c := range []struct {
		name   string
		o      packtest.Options
		change func(e *editor)
		kind   error
		parts  []string // of the error of Open or Verify
	}{
		{"no config", hf, func(e *editor) { delete(e.files, "config.json") }, pack.ErrMissing, []string{"pack bent", "config.json"}},
		{"no weights", hf, func(e *editor) { delete(e.files, main) }, pack.ErrMissing, []string{"neither model.safetensors nor model.safetensors.index.json"}},
		{"cut file", hf, func(e *editor) { e.files[main] = e.files[main][:len(e.files[main])-2] }, pack.ErrCorrupt, []string{main, "data_offsets"}},
		{"cut header", hf, func(e *editor) { e.files[main] = e.files[main][:100] }, pack.ErrCorrupt, []string{main, "cut short"}},
		{"missing tensor", hf, drop(main, "model.layers.2.self_attn.k_norm.weight"), pack.ErrMissing, []string{"layers.2.self_attn.k_norm"}},
		{"missing head", hf, drop(main, "lm_head.weight"), pack.ErrMissing, []string{"lm_head.weight", "tie_word_embeddings"}},
		{"missing experts", hf, drop(main, "model.layers.0.mlp.experts.gate_up_proj"), pack.ErrMissing, []string{"layers.0.mlp.experts.gate_up_proj"}},
		{"missing expert", packtest.Options{PerExpert: true}, drop(main, "model.layers.1.mlp.experts.5.up_proj.weight"), pack.ErrMissing, []string{"layers.1.mlp.experts.5.up_proj"}},
		{"expert too many", packtest.Options{PerExpert: true}, func(e *editor) { e.config(map[string]any{"num_experts": 7}) }, pack.ErrCorrupt, []string{"experts.7.gate_proj", "num_experts is 7"}},
		{"missing table", hf, drop(main, "model.layers.1.ple.ple_embedding.ngram_embedding.weight"), pack.ErrMissing, []string{"n-gram table", "shard_0"}},
		{"missing shard", packtest.Options{TableShards: 4}, drop(main, "model.layers.1.ple.ple_embedding.ngram_embedding.shard_2.weight"), pack.ErrMissing, []string{"3 shards", "shard_2"}},
		{"short table", hf, func(e *editor) { e.config(map[string]any{"ngram_vocab_size_base": 500}) }, pack.ErrCorrupt, []string{"ngram_embedding", "rows, want at least"}},
		{"wrong shape", hf, alter(main, "model.layers.0.linear_attn.in_proj_z.weight", func(x *entry) { x.Shape = []int64{32, 128} }), pack.ErrCorrupt,
			[]string{main, `"model.layers.0.linear_attn.in_proj_z.weight"`, "got shape [32 128] BF16", "want [64 64]"}},
		{"wrong rank", hf, alter(main, "model.layers.0.linear_attn.A_log", func(x *entry) { x.Shape = []int64{4, 1} }), pack.ErrCorrupt, []string{"A_log", "want [4]"}},
		{"wrong experts", hf, alter(main, "model.layers.0.mlp.experts.down_proj", func(x *entry) { x.Shape = []int64{4, 128, 32} }), pack.ErrCorrupt, []string{"experts.down_proj", "want [8 64 32] or [8 32 64]"}},
		{"half transposed", hf, alter(main, "model.layers.0.mlp.experts.down_proj", func(x *entry) { x.Shape = []int64{8, 32, 64} }), nil, nil}, // 2I = H: down decides
		{"config says other size", hf, func(e *editor) { e.config(map[string]any{"hidden_size": 128}) }, pack.ErrCorrupt, []string{"embed_tokens", "got shape [256 64]", "want [256 128]"}},
		{"bytes as weights", hf, alter(main, "model.layers.0.mlp.gate.weight", func(x *entry) { x.DType, x.Shape = "F8_E4M3", []int64{8, 128} }), pack.ErrUnsupported, []string{"mlp.gate", "F8_E4M3"}},
		{"unknown dtype used", hf, alter(main, "model.layers.0.mlp.gate.weight", func(x *entry) { x.DType = "NEW16" }), pack.ErrUnsupported, []string{"mlp.gate", "NEW16"}},
		{"ints as norm", hf, alter(main, "model.layers.0.mlp_hyper_connection.hc_norm.weight", func(x *entry) { x.DType = "I16" }), pack.ErrUnsupported, []string{"hc_norm", "I16"}},
		{"overlap", hf, alter(main, "lm_head.weight", func(x *entry) { x.Offsets = []int64{0, 32768} }), pack.ErrCorrupt, []string{"overlap"}},
		{"both conventions", hf, alter(main, "model.layers.0.linear_attn.conv1d.weight", func(x *entry) { x.Shape = []int64{128, 4, 1} }), pack.ErrCorrupt, []string{"conv1d", "the norms' convention cannot be told"}},
		{"mlx name, hf conv", hf, func(e *editor) { e.config(map[string]any{"quantization": map[string]any{"bits": 8}}) }, pack.ErrCorrupt, []string{"conv", "MLX quantisation"}},
		{"two prefixes", hf, func(e *editor) {
			e.header(main, func(h map[string]*entry) {
				h["model.language_model.layers.0.mlp.gate.weight"] = &entry{"F32", []int64{0}, []int64{0, 0}}
			})
		}, pack.ErrCorrupt, []string{"model.language_model.layers.0.mlp.gate.weight", "is the same as"}},
		{"generation type", hf, func(e *editor) { e.files["generation_config.json"] = `{"temperature": "hot"}` }, pack.ErrCorrupt, []string{"generation_config.json: temperature"}},
		{"generation NaN", hf, func(e *editor) { e.files["generation_config.json"] = `{"top_p": NaN}` }, pack.ErrCorrupt, []string{"generation_config.json: bad JSON"}},
		{"generation eos", hf, func(e *editor) { e.files["generation_config.json"] = `{"eos_token_id": [300]}` }, pack.ErrCorrupt, []string{"generation_config.json: eos_token_id"}},
		{"scales missing", mlx, drop(main, "language_model.model.embed_tokens.scales"), pack.ErrMissing, []string{"embed_tokens.scales"}},
		{"biases missing", mlx, drop(main, "language_model.model.layers.0.mlp.switch_mlp.up_proj.biases"), pack.ErrMissing, []string{"switch_mlp.up_proj.biases"}},
		{"codes of another width", mlx, alter(main, "language_model.model.embed_tokens.weight", func(x *entry) { x.Shape = []int64{128, 32} }), pack.ErrCorrupt, []string{"embed_tokens", "want 16 words (8 bits) or 8 (4 bits)"}},
		{"6 bits", mlx, func(e *editor) {
			e.header(main, func(h map[string]*entry) {
				x := h["language_model.model.embed_tokens.weight"]
				x.Shape, x.Offsets[1] = []int64{256, 12}, x.Offsets[0]+256*12*4
			})
		}, pack.ErrUnsupported, []string{"embed_tokens", "6 bits"}},
		{"scales of another type", mlx, alter(main, "language_model.model.embed_tokens.scales", func(x *entry) { x.DType = "I16" }), pack.ErrUnsupported, []string{"embed_tokens.scales", "I16"}},
		{"config says 4 bits", mlx, func(e *editor) { e.config(map[string]any{"quantization": map[string]any{"bits": 4, "group_size": 32}}) }, pack.ErrCorrupt, []string{"embed_tokens", "8 bits in groups of 64", "4 bits in groups of 32"}},
		{"config says no", mlx, func(e *editor) {
			e.config(map[string]any{"quantization": map[string]any{"bits": 8, "group_size": 64, "model.embed_tokens": false}})
		}, pack.ErrCorrupt, []string{`"embed_tokens"`, "not quantised"}},
		{"config says mxfp4", mlx, func(e *editor) { e.config(map[string]any{"quantization": map[string]any{"mode": "mxfp4"}}) }, pack.ErrUnsupported, []string{"mxfp4"}},
		{"no side-car", mlx, func(e *editor) { delete(e.files, "ngram-table.safetensors") }, pack.ErrMissing, []string{"ngram-table.safetensors"}},
		{"cut side-car", mlx, func(e *editor) { e.files["ngram-table.safetensors"] = e.files["ngram-table.safetensors"][:700] }, pack.ErrCorrupt, []string{"ngram-table.safetensors", "ngram.weight"}},
		{"side-car bits", mlx, func(e *editor) {
			e.files["ngram-table.safetensors"] = strings.Replace(e.files["ngram-table.safetensors"], `"ngram_bits":"0"`, `"ngram_bits":"4"`, 1)
		}, pack.ErrCorrupt, []string{"ngram_bits", "got 4"}},
		{"side-car rows", mlx, func(e *editor) {
			table := strings.Replace(e.files["ngram-table.safetensors"], `"rows":"`, `"rows":"9`, 1)
			n := binary.LittleEndian.Uint64([]byte(table[:8])) + 1 // the header is longer by the digit
			e.files["ngram-table.safetensors"] = string(binary.LittleEndian.AppendUint64(nil, n)) + table[8:]
		}, pack.ErrCorrupt, []string{"ngram-table.safetensors", `"rows"`}},
		{"side-car text", mlx, func(e *editor) {
			e.files["ngram-table.safetensors"] = strings.Replace(e.files["ngram-table.safetensors"], `"dim":"8"`, `"dim":"x"`, 1)
		}, pack.ErrCorrupt, []string{`"dim": got "x"`}},
		{"index escapes", packtest.Options{Shards: 2}, func(e *editor) {
			e.json("model.safetensors.index.json", map[string]any{"weight_map": map[string]any{"a": "../model.safetensors"}})
		}, pack.ErrCorrupt, []string{"model.safetensors.index.json", "../model.safetensors"}},
		{"index of numbers", packtest.Options{Shards: 2}, func(e *editor) {
			e.json("model.safetensors.index.json", map[string]any{"weight_map": map[string]any{"a": 4}})
		}, pack.ErrCorrupt, []string{`weight_map "a"`}},
		{"index empty", packtest.Options{Shards: 2}, func(e *editor) { e.files["model.safetensors.index.json"] = "{}" }, pack.ErrMissing, []string{"weight_map"}},
		{"shard missing", packtest.Options{Shards: 2}, func(e *editor) { delete(e.files, "model-00002-of-00002.safetensors") }, pack.ErrMissing, []string{"model-00002-of-00002.safetensors"}},
		{"tensor not in its shard", packtest.Options{Shards: 2}, drop("model-00001-of-00002.safetensors", "model.embed_tokens.weight"), pack.ErrMissing, []string{"embed_tokens", "model-00001-of-00002.safetensors"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := edit(t, packtest.Tiny(), c.o)
			c.change(e)
			p, err := e.open()
			if err == nil {
				err = p.Verify()
				p.Tensors() // inspecting a broken pack works
			}
			if c.kind == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, c.kind, c.parts...)
		})
	}
}

// Accessors refuse what the caller did not mean, one by one.
func TestAccessorErrors(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{})
	_, err := p.Linear("layers.0.linear_attn.out_proj", 64, 63)
	wantError(t, err, pack.ErrCorrupt, "pack random", "model.safetensors", "out_proj", "[64 64]", "[64 63]")
	_, err = p.Linear("layers.9.linear_attn.out_proj", 64, 64)
	wantError(t, err, pack.ErrMissing, "layers.9.linear_attn.out_proj")
	_, err = p.Norm("layers.0.attn_hyper_connection.hc_norm", 64)
	wantError(t, err, pack.ErrCorrupt, "hc_norm", "[256]", "[64]")
	_, err = p.Vector("layers.0.linear_attn.B_log", 4)
	wantError(t, err, pack.ErrMissing, "B_log")
	_, err = p.Conv("layers.0.linear_attn.conv1d", 128, 3)
	wantError(t, err, pack.ErrCorrupt, "conv1d", "[128 1 4]", "[128 1 3] or [128 3 1] or [128 3]")
	_, _, _, err = p.Experts("mtp.layers.0.mlp")
	wantError(t, err, pack.ErrMissing, "mtp.layers.0.mlp")
	_, err = p.NgramTable(1)
	wantError(t, err, pack.ErrMissing, "1 PLE layers")
	if _, ok, err := p.File("tokenizer.json"); ok || err != nil {
		t.Errorf("absent file: got %t %v, want false nil", ok, err)
	}
	_, _, err = p.File("../x")
	wantError(t, err, pack.ErrCorrupt, "../x")
}

// A number that is not finite in a norm or vector is found when it is read.
func TestNotFinite(t *testing.T) {
	e := edit(t, packtest.Tiny(), packtest.Options{})
	var at int64
	e.header("model.safetensors", func(h map[string]*entry) { at = h["model.layers.0.linear_attn.dt_bias"].Offsets[0] })
	text := e.files["model.safetensors"]
	n := int64(binary.LittleEndian.Uint64([]byte(text[:8])))
	b := []byte(text)
	binary.LittleEndian.PutUint16(b[8+n+at+2:], 0x7fc0)
	e.files["model.safetensors"] = string(b)
	p, err := e.open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Vector("layers.0.linear_attn.dt_bias", 4)
	wantError(t, err, pack.ErrCorrupt, "dt_bias", "NaN at element 1")
}

// A head that cannot be used costs the head, with a reason, and not the pack.
func TestHeads(t *testing.T) {
	const main = "model.safetensors"
	hf, mlx := packtest.Options{WithMTP: true}, packtest.Options{WithMTP: true, Layout: pack.MLX}
	mtp := func(kv map[string]any) map[string]any { return map[string]any{"mtp": kv} }
	for _, c := range []struct {
		name   string
		o      packtest.Options
		change func(e *editor)
		want   string // reason; "" means the head is there
	}{
		{"there", hf, func(e *editor) {}, ""},
		{"there, mlx", mlx, func(e *editor) {}, ""},
		{"none", packtest.Options{}, func(e *editor) {}, "no MTP head"},
		{"config silent, tensors there", hf, func(e *editor) { e.config(map[string]any{"mtp_num_hidden_layers": nil, "mtp": nil}) }, ""},
		{"config silent, no tensors", packtest.Options{}, func(e *editor) { e.config(map[string]any{"mtp_num_hidden_layers": nil}) }, "no MTP head"},
		{"config says none", hf, func(e *editor) { e.config(map[string]any{"mtp_num_hidden_layers": 0}) }, "no MTP head"},
		{"two layers", hf, func(e *editor) { e.config(map[string]any{"mtp_num_hidden_layers": 2}) }, "2 MTP layers"},
		{"own embeddings", hf, func(e *editor) { e.config(map[string]any{"mtp_use_dedicated_embeddings": true}) }, "mtp_use_dedicated_embeddings"},
		{"other layer", hf, func(e *editor) { e.config(mtp(map[string]any{"layer_types": []string{"linear_attention"}})) }, "mtp.layer_types"},
		{"tensor missing", hf, func(e *editor) {
			e.header(main, func(h map[string]*entry) {
				delete(h, "mtp.fc_hidden.weight")
				delete(h, "mtp.layers.0.self_attn.q_norm.weight")
			})
		}, `"mtp.fc_hidden.weight" is in no file`},
		{"wrong shape", hf, func(e *editor) {
			e.header(main, func(h map[string]*entry) { h["mtp.fc_hidden.weight"].Shape = []int64{32, 128} })
		}, "got shape [32 128] BF16, want [64 64]"},
		{"file missing", mlx, func(e *editor) { delete(e.files, "mtp.safetensors") }, "mtp.safetensors"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := edit(t, packtest.Tiny(), c.o)
			c.change(e)
			p, err := e.open()
			if err != nil {
				t.Fatal(err)
			}
			ok, why := p.HasMTP()
			if ok != (c.want == "") || !strings.Contains(why, c.want) {
				t.Errorf("got %t %q, want %q", ok, why, c.want)
			}
			if err := p.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What decides about the layout is never the prefix.
func TestDetection(t *testing.T) {
	for name, c := range map[string]struct {
		o    packtest.Options
		want pack.Layout
	}{
		"hf with mlx's prefix":  {packtest.Options{Prefix: "language_model.model."}, pack.HF},
		"mlx with hf's prefix":  {packtest.Options{Layout: pack.MLX, Prefix: "model."}, pack.MLX},
		"mlx without a prefix":  {packtest.Options{Layout: pack.MLX, Prefix: packtest.NoPrefix}, pack.MLX},
		"mlx without a keyword": {packtest.Options{Layout: pack.MLX}, pack.MLX},
	} {
		t.Run(name, func(t *testing.T) {
			g := packtest.Tiny()
			if name == "mlx without a keyword" { // no side-car, no extras, no metadata: the names and convolutions are left
				g.PLELayerIDs = nil
			}
			e := edit(t, g, c.o)
			if name == "mlx without a keyword" {
				e.files["model.safetensors"] = strings.Replace(e.files["model.safetensors"], `"format":"mlx"`, `"format":"xyz"`, 1)
			}
			p, err := e.open()
			if err != nil {
				t.Fatal(err)
			}
			if p.Layout != c.want {
				t.Errorf("got %v, want %v", p.Layout, c.want)
			}
			if err := p.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Foreign tensors, the vision tower's file left out, and extra files do no harm and are told.
func TestExtras(t *testing.T) {
	e := edit(t, packtest.Tiny(), packtest.Options{Shards: 2})
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal([]byte(e.files["model.safetensors.index.json"]), &index); err != nil {
		t.Fatal(err)
	}
	index.Map["model.visual.patch.weight"] = "vision.safetensors"
	e.json("model.safetensors.index.json", map[string]any{"weight_map": index.Map})
	e.header("model-00001-of-00002.safetensors", func(h map[string]*entry) { h["model.odd.thing"] = &entry{"F8_NEW", []int64{3}, []int64{0, 0}} })
	e.files["generation_config.json"] = `{"temperature": 0.5, "top_k": 20, "do_sample": false, "eos_token_id": [3, 250]}`
	p, err := e.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	if s := p.Summary(); len(s.Unused) != 1 || s.Unused[0] != "model.odd.thing" {
		t.Errorf("unused: got %v, want model.odd.thing", s.Unused)
	}
	if s := p.StrayTensors(); len(s) != 1 || s[0].Name != "model.odd.thing" {
		t.Errorf("stray tensors: got %v, want model.odd.thing", s)
	}
	g := p.Generation
	if g.Temperature == nil || *g.Temperature != 0.5 || g.TopK == nil || *g.TopK != 20 || g.DoSample == nil || *g.DoSample || g.TopP != nil {
		t.Errorf("generation: got %+v", g)
	}
	if got := p.Config.StopIDs; len(got) != 2 || got[0] != 3 || got[1] != 250 {
		t.Errorf("stop ids: got %v, want [3 250]", got)
	}
	uses := map[string]int{}
	for _, info := range p.Tensors() {
		uses[info.Use]++
	}
	if !maps.Equal(uses, map[string]int{"trunk": uses["trunk"], "table": 1, "unused": 1}) || uses["trunk"] < 80 {
		t.Errorf("uses: got %v", uses)
	}
}

// Scales of f32 and f16 are taken, rounded to bf16.
func TestWideScales(t *testing.T) {
	e := edit(t, packtest.Tiny(), packtest.Options{Layout: pack.MLX, Bits: 8})
	ref, err := e.open()
	if err != nil {
		t.Fatal(err)
	}
	want, err := ref.Linear("embed_tokens", 256, 64)
	if err != nil {
		t.Fatal(err)
	}
	// The same scales as f32, behind the file's data.
	const name, file = "language_model.model.embed_tokens.scales", "model.safetensors"
	var wide []byte
	for i := 0; i < len(want.Parts[0].Scales); i += 2 {
		wide = append(wide, 0, 0, want.Parts[0].Scales[i], want.Parts[0].Scales[i+1])
	}
	text := e.files[file]
	size := int64(len(text)) - 8 - int64(binary.LittleEndian.Uint64([]byte(text[:8])))
	e.files[file] = text + string(wide)
	e.header(file, func(h map[string]*entry) {
		h[name] = &entry{"F32", []int64{256, 1}, []int64{size, size + int64(len(wide))}}
	})
	p, err := e.open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Linear("embed_tokens", 256, 64)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Parts[0].Scales) != string(want.Parts[0].Scales) {
		t.Error("scales differ after conversion")
	}
}

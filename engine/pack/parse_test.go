package pack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// flat is a small valid config, with changes: a nil value deletes a field.
func flat(changes map[string]any) []byte {
	m := map[string]any{
		"model_type": "qwen4_exp_text", "vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 4,
		"layer_types":             []string{"linear_attention", "qwen_sparse_attention", "hybrid_indexed", "deepseek_sparse_attention"},
		"max_position_embeddings": 64, "hc_count": 2, "hc_lowrank": 4,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
		"indexer_n_heads": 2, "indexer_head_dim": 6, "indexer_budget": 8, "indexer_compress_ratio": 3,
		"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 4, "linear_conv_kernel_dim": 3,
		"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6, "shared_expert_intermediate_size": 5,
		"ple_layer_ids": []int{1, 3}, "ple_embed_dim": 12, "ple_conv_kernel_size": 3, "ngram_size": 3, "heads_per_ngram": 2, "ngram_vocab_size_base": 50,
		"rope_parameters": map[string]any{"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5},
		"eos_token_id":    []int{9, 3},
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
		panic(err)
	}
	return out
}

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig(flat(nil))
	if err != nil {
		t.Fatal(err)
	}
	rope := Rope{Theta: 1e6, PartialFactor: 0.5, Type: "default"}
	want := Config{
		ModelType: "qwen4_exp_text", Vocab: 100, Hidden: 8, Layers: 4, Kinds: []LayerKind{KindGDN, KindQSA, KindQSA, KindQSA},
		Heads: 4, KVHeads: 2, HeadDim: 8, Eps: 1e-6, GateSilu: true, MaxPositions: 64, Rope: rope, MTPRope: rope,
		KeyHeads: 2, ValueHeads: 4, KeyDim: 4, ValueDim: 4, Conv: 3,
		Experts: 4, TopK: 2, ExpertInner: 6, SharedInner: 5, RenormTopK: true, Streams: 2, LowRank: 4,
		PLELayers: []int{0, 2}, PLEDim: 12, PLEConv: 3, NgramSize: 3, HeadsPerNgram: 2, NgramBase: 50, NgramDivisor: 128, NgramSeed: 1234, NgramEOS: 9,
		IndexHeads: 2, IndexDim: 6, IndexBudget: 8, IndexRatio: 3, StopIDs: []int32{9, 3}, BOS: -1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
}

func TestParseConfigVariants(t *testing.T) {
	obj := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name    string
		changes map[string]any
		check   func(c *Config) any
		want    any
	}{
		{"interval", obj("layer_types", nil, "full_attention_interval", 2), func(c *Config) any { return c.Kinds }, []LayerKind{0, 1, 0, 1}},
		{"sigmoid gate", obj("output_gate_type", "sigmoid"), func(c *Config) any { return c.GateSilu }, false},
		{"gate from hidden_act", obj("output_gate_type", nil, "hidden_act", "silu"), func(c *Config) any { return c.GateSilu }, true},
		{"null is absent", obj("norm_topk_prob", json.RawMessage("null")), func(c *Config) any { return c.RenormTopK }, true},
		{"no renorm", obj("norm_topk_prob", false), func(c *Config) any { return c.RenormTopK }, false},
		{"float integer", obj("hidden_size", json.RawMessage("8.0")), func(c *Config) any { return c.Hidden }, 8},
		{"one eos", obj("eos_token_id", 7), func(c *Config) any { return c.NgramEOS }, int32(7)},
		{"no PLE", obj("ple_layer_ids", []int{}, "ple_embed_dim", nil, "eos_token_id", nil), func(c *Config) any { return len(c.PLELayers) + len(c.StopIDs) }, 0},
		{"all QSA", obj("layer_types", []string{"full_attention", "full_attention", "full_attention", "full_attention"}, "linear_num_key_heads", nil), func(c *Config) any { return c.Count(KindQSA) }, 4},
		{"mtp count", obj("mtp_num_hidden_layers", 1), func(c *Config) any { return c.MTPLayers }, 1},
		{"quantisation twice, alike", obj("quantization", obj("bits", 4, "mode", "affine"), "quantization_config", obj("bits", 4)), func(c *Config) any { return c.Layers }, 4},
		{"mtp object", obj("mtp", obj("num_hidden_layers", 1, "rope_theta", 5)), func(c *Config) any { return []any{c.MTPLayers, c.MTPRope.Theta, c.Rope.Theta} }, []any{1, 5.0, 1e6}},
		{"older rope", obj("rope_parameters", nil, "rope_theta", 300, "partial_rotary_factor", 0.25), func(c *Config) any { return c.Rope }, Rope{Theta: 300, PartialFactor: 0.25, Type: "default"}},
		{"yarn", obj("rope_parameters", obj("rope_type", "yarn", "rope_theta", 10, "partial_rotary_factor", 0.25, "factor", 4, "original_max_position_embeddings", 16)), func(c *Config) any { return c.Rope },
			Rope{Theta: 10, PartialFactor: 0.25, Type: "yarn", Factor: 4, OriginalMax: 16, BetaFast: 32, BetaSlow: 1, Truncate: true}},
		{"yarn beside theta", obj("rope_parameters", nil, "rope_theta", 300, "rope_scaling", obj("type", "yarn", "factor", 2, "partial_rotary_factor", 0.25)), func(c *Config) any { return []any{c.Rope.Theta, c.Rope.Type, c.Rope.OriginalMax} }, []any{300.0, "yarn", 64}},
		{"scaling wins over parameters", obj("rope_parameters", obj("rope_theta", 10), "rope_scaling", obj("rope_theta", 20, "partial_rotary_factor", 0.5)), func(c *Config) any { return c.Rope.Theta }, 20.0},
		{"theta and factor left out", obj("rope_parameters", obj("partial_rotary_factor", 0.25, "rope_type", "yarn", "original_max_position_embeddings", 16)), func(c *Config) any { return []any{c.Rope.Theta, c.Rope.Factor} }, []any{10000.0, 4.0}},
		{"whole head rotated", obj("rope_parameters", obj("rope_theta", 10), "indexer_head_dim", 8), func(c *Config) any { return c.Rope.PartialFactor }, 1.0},
		{"ple ids in any order", obj("ple_layer_ids", []int{3, 2, 3}), func(c *Config) any { return c.PLELayers }, []int{1, 2}},
		{"ple dim left out", obj("ple_embed_dim", nil), func(c *Config) any { return c.PLEDim == c.Hidden }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseConfig(flat(c.changes))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, c.check(&got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestParseConfigNested(t *testing.T) {
	var text map[string]any
	if err := json.Unmarshal(flat(nil), &text); err != nil {
		t.Fatal(err)
	}
	root, err := json.Marshal(map[string]any{"model_type": "qwen4_exp", "eos_token_id": []int{11, 9}, "tie_word_embeddings": true, "text_config": text})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int32{11, 9, 3}, c.StopIDs); d != "" {
		t.Errorf("stop ids (-want +got):\n%s", d)
	}
	// The hash's boundary is the text config's id, never the chat's (spec 7, pitfall 16).
	if c.NgramEOS != 9 || !c.Tied || c.ModelType != "qwen4_exp" {
		t.Errorf("got eos %d tied %t type %s, want 9 true qwen4_exp", c.NgramEOS, c.Tied, c.ModelType)
	}
}

func TestParseConfigBad(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		name string
		data []byte
		kind error
		want string
	}{
		{"not JSON", []byte("{"), ErrCorrupt, "config.json: bad JSON"},
		{"NaN", []byte(`{"model_type": "qwen4_exp_text", "rms_norm_eps": NaN}`), ErrCorrupt, "bad JSON"},
		{"array", []byte("[]"), ErrCorrupt, "want an object"},
		{"text after", append(flat(nil), "{}"...), ErrCorrupt, "text after"},
		{"text_config a list", []byte(`{"model_type":"qwen4_exp","text_config":[]}`), ErrCorrupt, "config.json: text_config: got array"},
		{"other model", flat(map[string]any{"model_type": "llama"}), ErrUnsupported, `model_type: got "llama"`},
		{"missing field", flat(map[string]any{"hidden_size": nil}), ErrMissing, "config.json: hidden_size is missing"},
		{"string", flat(map[string]any{"hidden_size": "8"}), ErrCorrupt, `config.json: hidden_size: got string "8", want an integer from 1`},
		{"bool", flat(map[string]any{"num_experts": true}), ErrCorrupt, "num_experts: got boolean true"},
		{"negative", flat(map[string]any{"vocab_size": -5}), ErrCorrupt, "vocab_size: got number -5"},
		{"zero", flat(map[string]any{"head_dim": 0}), ErrCorrupt, "head_dim: got number 0"},
		{"huge", flat(map[string]any{"num_hidden_layers": raw("1e15")}), ErrCorrupt, "num_hidden_layers: got number 1e15"},
		{"overflow", flat(map[string]any{"vocab_size": raw("99999999999999999999")}), ErrCorrupt, "vocab_size"},
		{"fraction", flat(map[string]any{"hidden_size": 8.5}), ErrCorrupt, "hidden_size: got number 8.5"},
		{"eps", flat(map[string]any{"rms_norm_eps": raw("1e999")}), ErrCorrupt, "rms_norm_eps"},
		{"flag", flat(map[string]any{"tie_word_embeddings": "no"}), ErrCorrupt, "tie_word_embeddings: got string"},
		{"kinds length", flat(map[string]any{"num_hidden_layers": 5}), ErrCorrupt, "layer_types: got 4 entries, want num_hidden_layers = 5"},
		{"kind", flat(map[string]any{"layer_types": []string{"a", "b", "c", "d"}}), ErrUnsupported, `layer_types[0]: got string "a"`},
		{"no kinds", flat(map[string]any{"layer_types": nil}), ErrMissing, "full_attention_interval"},
		{"kv heads", flat(map[string]any{"num_key_value_heads": 3}), ErrCorrupt, "num_key_value_heads: got 3, want a divisor"},
		{"value heads", flat(map[string]any{"linear_num_value_heads": 3}), ErrCorrupt, "linear_num_value_heads: got 3, want a multiple"},
		{"budget", flat(map[string]any{"indexer_budget": 2}), ErrCorrupt, "indexer_budget: got 2, want at least indexer_compress_ratio = 3"},
		{"ratio", flat(map[string]any{"indexer_compress_ratio": 0}), ErrCorrupt, "indexer_compress_ratio"},
		{"index kv", flat(map[string]any{"indexer_kv_heads": 2}), ErrUnsupported, "indexer_kv_heads: got 2, want 1"},
		{"top k", flat(map[string]any{"num_experts_per_tok": 5}), ErrCorrupt, "num_experts_per_tok: got 5, want at most num_experts = 4"},
		{"ple id zero", flat(map[string]any{"ple_layer_ids": []int{0}}), ErrCorrupt, "ple_layer_ids[0]: got number 0"},
		{"ple id high", flat(map[string]any{"ple_layer_ids": []int{1, 5}}), ErrCorrupt, "ple_layer_ids[1]: got number 5, want a layer from 1 to 4"},
		{"ple ids text", flat(map[string]any{"ple_layer_ids": "2"}), ErrCorrupt, "ple_layer_ids: got string"},
		{"ple dim", flat(map[string]any{"ple_embed_dim": 10}), ErrCorrupt, "ple_embed_dim: got 10, want a multiple of heads_per_ngram*(ngram_size-1) = 4"},
		{"many heads", flat(map[string]any{"ple_embed_dim": 1 << 13, "heads_per_ngram": 1 << 12}), ErrCorrupt, "n-gram heads"},
		{"no ngram eos", flat(map[string]any{"eos_token_id": nil}), ErrMissing, "eos_token_id is missing"},
		{"eos range", flat(map[string]any{"eos_token_id": []int{9, 100}}), ErrCorrupt, "eos_token_id: got number 100, want token ids from 0 to 99"},
		{"odd rotary", flat(map[string]any{"rope_parameters": map[string]any{"rope_theta": 10, "partial_rotary_factor": 0.4}}), ErrCorrupt, "rotates 3 of head_dim"},
		{"wide rotary", flat(map[string]any{"rope_parameters": map[string]any{"rope_theta": 10, "partial_rotary_factor": 1}}), ErrCorrupt, "indexer_head_dim = 6"},
		{"theta text", flat(map[string]any{"rope_parameters": map[string]any{"rope_theta": "x"}}), ErrCorrupt, "rope_parameters.rope_theta: got string"},
		{"rope type", flat(map[string]any{"rope_parameters": map[string]any{"rope_theta": 10, "rope_type": "llama3"}}), ErrUnsupported, `rope_type: got "llama3"`},
		{"rope text", flat(map[string]any{"rope_parameters": "x"}), ErrCorrupt, "rope_parameters: got string"},
		{"activation", flat(map[string]any{"hidden_act": "gelu"}), ErrUnsupported, `hidden_act: got "gelu"`},
		{"gate", flat(map[string]any{"output_gate_type": "tanh"}), ErrUnsupported, `output_gate_type: got "tanh"`},
		{"bias", flat(map[string]any{"attention_bias": true}), ErrUnsupported, "attention_bias"},
		{"conv", flat(map[string]any{"linear_conv_kernel_dim": 1}), ErrCorrupt, "linear_conv_kernel_dim"},
		{"state", flat(map[string]any{"linear_key_head_dim": 4096, "linear_value_head_dim": 4096, "linear_num_value_heads": 64}), ErrCorrupt, "linear_num_value_heads * linear_key_head_dim"},
		{"path escape", flat(map[string]any{"mlx_lm_extra_tensors": map[string]any{"mtp_file": "../../secret.safetensors"}}), ErrCorrupt, `mlx_lm_extra_tensors.mtp_file: got string "../../secret.safetensors"`},
		{"absolute path", flat(map[string]any{"mlx_lm_extra_tensors": map[string]any{"ngram_file": "/etc/passwd"}}), ErrCorrupt, "ngram_file"},
		{"bits", flat(map[string]any{"quantization": map[string]any{"bits": -4}}), ErrCorrupt, "quantization.bits"},
		{"two quantisations", flat(map[string]any{"quantization": map[string]any{"bits": 4, "group_size": 32, "a": map[string]any{"bits": 8, "group_size": 64}},
			"quantization_config": map[string]any{"bits": 4, "group_size": 32}}), ErrCorrupt, `quantization and config.json: quantization_config contradict each other about module "a": got 8 bits in groups of 64`},
		{"module rule", flat(map[string]any{"quantization": map[string]any{"bits": 4, "model.layers.0.mlp.gate": map[string]any{"bits": "8"}}}), ErrCorrupt, "quantization.model.layers.0.mlp.gate.bits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseConfig(c.data)
			if err == nil {
				t.Fatalf("got no error, want %q", c.want)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %v with %q", err, c.kind, c.want)
			}
		})
	}
}

// Whatever the bytes, the parser returns; what it accepts keeps the relations the model relies on.
func FuzzConfig(f *testing.F) {
	f.Add(flat(nil))
	f.Add(flat(map[string]any{"num_hidden_layers": 1 << 40}))
	f.Add(flat(map[string]any{"quantization": map[string]any{"bits": 4, "group_size": 32}, "mlx_lm_extra_tensors": map[string]any{"mtp_file": "a"}}))
	f.Add([]byte(`{"model_type":"qwen4_exp","text_config":{"ple_layer_ids":[[]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConfig(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrMissing) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("got %v, want it to wrap a sentinel", err)
			}
			return
		}
		if len(c.Kinds) != c.Layers || c.Heads%c.KVHeads != 0 || c.TopK > c.Experts || c.IndexBudget < c.IndexRatio || c.Width() <= 0 {
			t.Fatalf("got a config that does not hold together: %+v", c)
		}
		if n := c.Rope.RotaryDim(c.HeadDim); n < 2 || n%2 != 0 || n > c.IndexDim {
			t.Fatalf("rotary dim: got %d of %d and %d", n, c.HeadDim, c.IndexDim)
		}
		if len(c.PLELayers) > 0 && (c.NgramHeads() == 0 || c.RowDim()*c.NgramHeads() != c.PLEDim) {
			t.Fatalf("row dim: got %d for %d heads of %d", c.RowDim(), c.NgramHeads(), c.PLEDim)
		}
	})
}

package packtest

import (
	"encoding/json"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
)

// Geometry is what config.json says about a model. Names are those of [pack.Config]; ids are as in config.json.
type Geometry struct {
	Vocab, Hidden                  int
	Kinds                          []pack.LayerKind // one per layer
	Heads, KVHeads, HeadDim        int
	KeyHeads, ValueHeads           int
	KeyDim, ValueDim, Conv         int
	Experts, TopK                  int
	ExpertInner, SharedInner       int
	NoRenorm                       bool // norm_topk_prob false
	Streams, LowRank               int
	PLELayerIDs                    []int // ONE-based, as in config.json; empty: no PLE
	PLEDim, PLEConv                int
	NgramSize, HeadsPerNgram       int
	NgramBase, NgramDivisor        int64
	IndexHeads, IndexDim           int
	IndexBudget, IndexRatio        int
	MaxPositions                   int
	Theta, MTPTheta, PartialRotary float64 // MTPTheta 0: as Theta
	YarnFactor                     float64 // 0: default rope
	Eps                            float64
	GateSilu                       bool
	Tied                           bool
	EOS                            []int32 // text_config.eos_token_id; the first is the n-gram boundary
	RootEOS                        []int32 // root eos_token_id, where the config is nested
	FullAttentionInterval          bool    // write full_attention_interval 4 instead of layer_types
}

// kinds makes layers from a word: g for GDN, q for QSA.
func kinds(word string) []pack.LayerKind {
	out := make([]pack.LayerKind, len(word))
	for i := range out {
		if word[i] == 'q' {
			out[i] = pack.KindQSA
		}
	}
	return out
}

// Tiny is the released model's shape made small: 5 layers, powers of two that MLX can quantise, one PLE layer. Its QSA
// budget is 32 tokens in blocks of 4.
func Tiny() Geometry {
	return Geometry{
		Vocab: 256, Hidden: 64, Kinds: kinds("ggqgq"),
		Heads: 4, KVHeads: 2, HeadDim: 16,
		KeyHeads: 2, ValueHeads: 4, KeyDim: 16, ValueDim: 16, Conv: 4,
		Experts: 8, TopK: 2, ExpertInner: 32, SharedInner: 32,
		Streams: 4, LowRank: 16,
		PLELayerIDs: []int{2}, PLEDim: 64, PLEConv: 4, NgramSize: 3, HeadsPerNgram: 4, NgramBase: 100, NgramDivisor: 16,
		IndexHeads: 2, IndexDim: 16, IndexBudget: 32, IndexRatio: 4,
		MaxPositions: 2048, Theta: 1e7, PartialRotary: 0.25, Eps: 1e-6,
		EOS: []int32{250}, RootEOS: []int32{251, 250},
	}
}

// Odd shares no size with the released model: dims that are no powers of two, 2 streams, two PLE layers, 4-grams, 3 taps,
// blocks of 3 with a budget of 24, silu gate, tied embeddings, a list of eos ids, QSA layers off the usual grid, and an
// MTP head with a theta of its own.
func Odd() Geometry {
	return Geometry{
		Vocab: 311, Hidden: 72, Kinds: kinds("gqggqqg"),
		Heads: 6, KVHeads: 2, HeadDim: 24,
		KeyHeads: 3, ValueHeads: 6, KeyDim: 20, ValueDim: 12, Conv: 3,
		Experts: 7, TopK: 3, ExpertInner: 28, SharedInner: 44,
		Streams: 2, LowRank: 10,
		PLELayerIDs: []int{2, 3}, PLEDim: 90, PLEConv: 3, NgramSize: 4, HeadsPerNgram: 3, NgramBase: 57, NgramDivisor: 10,
		IndexHeads: 3, IndexDim: 14, IndexBudget: 24, IndexRatio: 3,
		MaxPositions: 1000, Theta: 5000, MTPTheta: 700, PartialRotary: 0.25, Eps: 3e-6,
		GateSilu: true, Tied: true, EOS: []int32{300, 7}, RootEOS: []int32{301, 300},
	}
}

// nested reports whether the config goes under text_config: so it is where names have a language model's prefix.
func (o *Options) nested() bool { return strings.Contains(o.Prefix, "language_model") }

// config is config.json.
func (b *builder) config() string {
	g, o := &b.g, &b.o
	text := map[string]any{
		"model_type": "qwen4_exp_text", "vocab_size": g.Vocab, "hidden_size": g.Hidden, "num_hidden_layers": len(g.Kinds),
		"num_attention_heads": g.Heads, "num_key_value_heads": g.KVHeads, "head_dim": g.HeadDim,
		"rms_norm_eps": g.Eps, "hidden_act": "silu", "max_position_embeddings": g.MaxPositions,
		"tie_word_embeddings":  g.Tied || o.Tied,
		"linear_num_key_heads": g.KeyHeads, "linear_num_value_heads": g.ValueHeads,
		"linear_key_head_dim": g.KeyDim, "linear_value_head_dim": g.ValueDim, "linear_conv_kernel_dim": g.Conv,
		"num_experts": g.Experts, "num_experts_per_tok": g.TopK, "moe_intermediate_size": g.ExpertInner,
		"shared_expert_intermediate_size": g.SharedInner, "norm_topk_prob": !g.NoRenorm,
		"hc_count": g.Streams, "hc_lowrank": g.LowRank,
		"indexer_n_heads": g.IndexHeads, "indexer_kv_heads": 1, "indexer_head_dim": g.IndexDim,
		"indexer_budget": g.IndexBudget, "indexer_compress_ratio": g.IndexRatio,
		"eos_token_id": g.EOS,
	}
	if len(g.EOS) == 1 {
		text["eos_token_id"] = g.EOS[0]
	}
	if !g.GateSilu { // absent means hidden_act
		text["output_gate_type"] = "sigmoid"
	}
	if g.FullAttentionInterval {
		text["full_attention_interval"] = 4
	} else {
		names := make([]string, len(g.Kinds))
		for i, k := range g.Kinds {
			names[i] = [...]string{"linear_attention", "full_attention"}[k]
		}
		text["layer_types"] = names
	}
	rope := map[string]any{"rope_type": "default", "rope_theta": g.Theta, "partial_rotary_factor": g.PartialRotary}
	if g.YarnFactor > 0 {
		rope["rope_type"], rope["factor"] = "yarn", g.YarnFactor
		rope["original_max_position_embeddings"] = max(1, int(float64(g.MaxPositions)/g.YarnFactor))
	}
	text["rope_parameters"] = rope
	if len(g.PLELayerIDs) > 0 {
		text["ple_layer_ids"], text["ple_embed_dim"], text["ple_conv_kernel_size"] = g.PLELayerIDs, g.PLEDim, g.PLEConv
		text["ngram_size"], text["heads_per_ngram"] = g.NgramSize, g.HeadsPerNgram
		text["ngram_vocab_size_base"], text["make_ngram_vocab_size_divisible_by"] = g.NgramBase, g.NgramDivisor
	}
	if o.WithMTP {
		theta := g.MTPTheta
		if theta == 0 {
			theta = g.Theta
		}
		text["mtp_num_hidden_layers"] = 1
		text["mtp"] = map[string]any{"num_hidden_layers": 1, "layer_types": []string{"full_attention"}, "rope_theta": theta}
	} else {
		text["mtp_num_hidden_layers"] = 0
	}
	root := text
	if o.nested() {
		root = map[string]any{"model_type": "qwen4_exp", "text_config": text}
		if len(g.RootEOS) > 0 {
			root["eos_token_id"] = g.RootEOS
		}
	}
	if o.Layout == pack.MLX {
		extra := map[string]any{}
		if len(g.PLELayerIDs) > 0 {
			text["ngram_sidecar"] = true
			extra["ngram_file"] = tableFile
		}
		if o.WithMTP {
			extra["mtp_file"] = headFile
		}
		if len(extra) > 0 {
			root["mlx_lm_extra_tensors"] = extra
		}
		if o.Bits > 0 {
			root["quantization"] = b.quantization()
		}
	}
	out, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		panic("packtest: " + err.Error()) // numbers and strings of our own always marshal
	}
	return string(out)
}

package pack

import (
	"fmt"
	"math"
	"slices"
)

// Upper limits of config.json. They lie well above any model of the family and low enough that no product of two sizes
// overflows an int64 and that what is allocated without a tensor's bytes behind it (states, rope tables) stays bounded.
const (
	maxVocab     = 1 << 22
	maxHidden    = 1 << 16
	maxLayers    = 1 << 10
	maxHeads     = 1 << 10
	maxHeadDim   = 1 << 12
	maxInner     = 1 << 17
	maxExperts   = 1 << 13
	maxTaps      = 64
	maxStreams   = 64
	maxWidth     = 1 << 20 // S*H, and heads times dims
	maxState     = 1 << 26 // elements of one GDN layer's state
	maxPositions = 1 << 24
	maxNgram     = 16
	maxHashes    = 1 << 12 // n-gram heads of all PLE layers
	maxBase      = 1 << 32
)

// hints is what config.json says about the files rather than about the model.
type hints struct {
	quant     *quant // nil: no MLX quantisation
	sidecar   bool   // text_config.ngram_sidecar
	extras    bool   // mlx_lm_extra_tensors is there
	ngramFile string
	mtpFile   string
	mtpSilent bool   // no word about the number of MTP layers: the tensors decide
	mtpMisfit string // why the head described cannot run, "" if it can
}

// ParseConfig reads and checks config.json: a flat text config, or a root with text_config. The error names the field.
func ParseConfig(data []byte) (Config, error) {
	c, _, err := parseConfig(data)
	return c, err
}

func parseConfig(data []byte) (Config, hints, error) {
	root, err := readFields("config.json", data)
	if err != nil {
		return Config{}, hints{}, err
	}
	text := root
	if root.has("text_config") {
		if text = root.object("text_config"); text == nil {
			return Config{}, hints{}, *root.err
		}
	}
	p := configParser{root: root, text: text}
	p.family()
	p.sizes()
	p.layers()
	p.attention()
	p.delta()
	p.experts()
	p.ple()
	p.mtp()
	p.rope()
	p.tokens()
	p.files()
	p.products()
	if *root.err != nil {
		return Config{}, hints{}, *root.err
	}
	return p.c, p.h, nil
}

type configParser struct {
	root, text *fields
	c          Config
	h          hints
}

// ok reports that nothing failed so far, so that values may be related to each other.
func (p *configParser) ok() bool { return *p.text.err == nil }

func (p *configParser) family() {
	p.c.ModelType = p.root.textOr("model_type", "")
	if !slices.Contains([]string{"qwen4_exp", "qwen4_exp_text"}, p.c.ModelType) {
		p.text.fail(unsupported("config.json: model_type: got %q, want qwen4_exp or qwen4_exp_text", p.c.ModelType))
	}
	if p.text != p.root {
		if t := p.text.textOr("model_type", "qwen4_exp_text"); t != "qwen4_exp_text" && t != "qwen4_exp" {
			p.text.fail(unsupported("%s: got %q, want qwen4_exp_text", p.text.name("model_type"), t))
		}
	}
}

func (p *configParser) sizes() {
	c, t := &p.c, p.text
	c.Vocab = t.count("vocab_size", 2, maxVocab)
	c.Hidden = t.count("hidden_size", 1, maxHidden)
	c.Layers = t.count("num_hidden_layers", 1, maxLayers)
	c.Eps = float32(t.floatOr("rms_norm_eps", 1e-6, 1e-20, 1))
	c.MaxPositions = t.count("max_position_embeddings", 1, maxPositions)
	c.Streams = t.count("hc_count", 1, maxStreams)
	c.LowRank = t.count("hc_lowrank", 1, maxHidden)
	c.Tied = t.boolOr("tie_word_embeddings", p.root.boolOr("tie_word_embeddings", false))
	if act := t.textOr("hidden_act", "silu"); act != "silu" && act != "swish" {
		t.fail(unsupported("%s: got %q, want silu (the experts' activation)", t.name("hidden_act"), act))
	}
	switch gate := t.textOr("output_gate_type", t.textOr("hidden_act", "silu")); gate {
	case "sigmoid":
	case "silu", "swish":
		c.GateSilu = true
	default:
		t.fail(unsupported("%s: got %q, want sigmoid or silu", t.name("output_gate_type"), gate))
	}
	for _, key := range []string{"attention_bias", "mlp_bias"} {
		if t.boolOr(key, false) {
			t.fail(unsupported("%s: got true, but the family has no biases", t.name(key)))
		}
	}
}

func (p *configParser) layers() {
	c, t := &p.c, p.text
	if !p.ok() {
		return
	}
	kinds := t.list("layer_types")
	if kinds == nil {
		every := t.count("full_attention_interval", 1, maxLayers)
		c.Kinds = make([]LayerKind, c.Layers)
		for i := range c.Kinds {
			if every > 0 && (i+1)%every == 0 {
				c.Kinds[i] = KindQSA
			}
		}
		return
	}
	if len(kinds) != c.Layers {
		t.fail(corrupt("%s: got %d entries, want num_hidden_layers = %d", t.name("layer_types"), len(kinds), c.Layers))
		return
	}
	for i, v := range kinds {
		kind, ok := layerKind(v)
		if !ok {
			t.fail(unsupported("%s[%d]: got %s, want linear_attention or full_attention", t.name("layer_types"), i, describe(v)))
			return
		}
		c.Kinds = append(c.Kinds, kind)
	}
}

// layerKind knows every name that the family's writers give the two kinds (spec 1.1).
func layerKind(v any) (LayerKind, bool) {
	switch v {
	case "linear_attention":
		return KindGDN, true
	case "full_attention", "qwen_sparse_attention", "deepseek_sparse_attention", "hybrid_indexed":
		return KindQSA, true
	}
	return 0, false
}

// attention reads the fields of QSA layers, which an MTP head needs too.
func (p *configParser) attention() {
	c, t := &p.c, p.text
	c.Heads = t.count("num_attention_heads", 1, maxHeads)
	c.KVHeads = int(t.integerOr("num_key_value_heads", 2, 1, maxHeads))
	c.HeadDim = t.count("head_dim", 2, maxHeadDim)
	c.IndexHeads = t.count("indexer_n_heads", 1, maxHeads)
	c.IndexDim = t.count("indexer_head_dim", 2, maxHeadDim)
	c.IndexBudget = t.count("indexer_budget", 1, maxPositions)
	c.IndexRatio = t.count("indexer_compress_ratio", 1, maxPositions)
	if n := t.integerOr("indexer_kv_heads", 1, 0, maxHeads); n != 1 {
		t.fail(unsupported("%s: got %d, want 1", t.name("indexer_kv_heads"), n))
	}
	if !p.ok() {
		return
	}
	if c.Heads%c.KVHeads != 0 {
		t.fail(corrupt("%s: got %d, want a divisor of num_attention_heads = %d", t.name("num_key_value_heads"), c.KVHeads, c.Heads))
	}
	if c.IndexBudget < c.IndexRatio {
		t.fail(corrupt("%s: got %d, want at least indexer_compress_ratio = %d", t.name("indexer_budget"), c.IndexBudget, c.IndexRatio))
	}
}

func (p *configParser) delta() {
	c, t := &p.c, p.text
	if !p.ok() || c.Count(KindGDN) == 0 {
		return
	}
	c.KeyHeads = t.count("linear_num_key_heads", 1, maxHeads)
	c.ValueHeads = t.count("linear_num_value_heads", 1, maxHeads)
	c.KeyDim = t.count("linear_key_head_dim", 1, maxHeadDim)
	c.ValueDim = t.count("linear_value_head_dim", 1, maxHeadDim)
	c.Conv = t.count("linear_conv_kernel_dim", 2, maxTaps)
	if p.ok() && c.ValueHeads%c.KeyHeads != 0 {
		t.fail(corrupt("%s: got %d, want a multiple of linear_num_key_heads = %d", t.name("linear_num_value_heads"), c.ValueHeads, c.KeyHeads))
	}
}

func (p *configParser) experts() {
	c, t := &p.c, p.text
	c.Experts = t.count("num_experts", 1, maxExperts)
	c.TopK = t.count("num_experts_per_tok", 1, maxExperts)
	c.ExpertInner = t.count("moe_intermediate_size", 1, maxInner)
	c.SharedInner = t.count("shared_expert_intermediate_size", 1, maxInner)
	c.RenormTopK = t.boolOr("norm_topk_prob", true)
	if p.ok() && c.TopK > c.Experts {
		t.fail(corrupt("%s: got %d, want at most num_experts = %d", t.name("num_experts_per_tok"), c.TopK, c.Experts))
	}
}

func (p *configParser) ple() {
	c, t := &p.c, p.text
	ids := t.list("ple_layer_ids")
	if len(ids) == 0 || !p.ok() {
		return
	}
	for i, v := range ids {
		id, ok := toInt(v)
		if !ok || id < 1 || id > int64(c.Layers) {
			t.fail(corrupt("%s[%d]: got %s, want a layer from 1 to %d (counted from one)", t.name("ple_layer_ids"), i, describe(v), c.Layers))
			return
		}
		c.PLELayers = append(c.PLELayers, int(id)-1)
	}
	slices.Sort(c.PLELayers) // constants and tables count layers in trunk order
	c.PLELayers = slices.Compact(c.PLELayers)
	c.PLEDim = int(t.integerOr("ple_embed_dim", int64(c.Hidden), 1, maxWidth))
	c.PLEConv = t.count("ple_conv_kernel_size", 2, maxTaps)
	c.NgramSize = t.count("ngram_size", 2, maxNgram)
	c.HeadsPerNgram = t.count("heads_per_ngram", 1, maxHashes)
	c.NgramBase = t.integer("ngram_vocab_size_base", 2, maxBase)
	c.NgramDivisor = t.integerOr("make_ngram_vocab_size_divisible_by", 128, 1, 1<<20)
	c.NgramSeed = uint64(t.integerOr("seed", 1234, 0, math.MaxInt64))
	if !p.ok() {
		return
	}
	if n := c.NgramHeads(); c.PLEDim%n != 0 {
		t.fail(corrupt("%s: got %d, want a multiple of heads_per_ngram*(ngram_size-1) = %d", t.name("ple_embed_dim"), c.PLEDim, n))
	}
	if n := c.NgramHeads() * len(c.PLELayers); n > maxHashes {
		t.fail(corrupt("%s: got %d n-gram heads in all layers, want at most %d", t.name("heads_per_ngram"), n, maxHashes))
	}
}

// mtp reads what config.json says about the head. A head this engine cannot run is no error: the pack is then served at
// depth 0 (design 7).
func (p *configParser) mtp() {
	t := p.text
	head := t.object("mtp")
	if head == nil && p.root != t {
		head = p.root.object("mtp")
	}
	n := t.integerOr("mtp_num_hidden_layers", -1, 0, maxLayers)
	if n < 0 && head != nil {
		n = head.integerOr("num_hidden_layers", -1, 0, maxLayers)
	}
	p.h.mtpSilent = n < 0
	p.c.MTPLayers = int(max(n, 0))
	if n > 1 {
		p.h.mtpMisfit = fmt.Sprintf("config.json names %d MTP layers, this engine runs one", n)
	}
	if t.boolOr("mtp_use_dedicated_embeddings", false) {
		p.h.mtpMisfit = "config.json asks for embeddings of the head's own (mtp_use_dedicated_embeddings)"
	}
	if head == nil {
		return
	}
	for _, v := range head.list("layer_types") {
		if kind, ok := layerKind(v); !ok || kind != KindQSA {
			p.h.mtpMisfit = fmt.Sprintf("config.json: mtp.layer_types has %s, this engine runs full_attention", describe(v))
		}
	}
}

func (p *configParser) tokens() {
	c, t := &p.c, p.text
	if !p.ok() {
		return
	}
	vocab := int64(c.Vocab)
	eos := t.ids("eos_token_id", vocab)
	c.StopIDs = union(nil, p.root.ids("eos_token_id", vocab), eos)
	c.BOS = int32(t.integerOr("bos_token_id", -1, -1, vocab-1))
	if len(c.PLELayers) == 0 {
		return
	}
	if len(eos) == 0 {
		t.fail(missing("%s is missing: it is the boundary id of the n-gram hash", t.name("eos_token_id")))
		return
	}
	c.NgramEOS = eos[0]
}

// union appends the ids of the lists that are not there yet.
func union(have []int32, lists ...[]int32) []int32 {
	for _, l := range lists {
		for _, id := range l {
			if !slices.Contains(have, id) {
				have = append(have, id)
			}
		}
	}
	return have
}

// files reads where the MLX layout keeps its extra tensors, and its quantisation.
func (p *configParser) files() {
	p.h.sidecar = p.text.boolOr("ngram_sidecar", p.root.boolOr("ngram_sidecar", false))
	if extra := p.root.object("mlx_lm_extra_tensors"); extra != nil {
		p.h.extras = true
		p.h.ngramFile = p.fileName(extra, "ngram_file")
		p.h.mtpFile = p.fileName(extra, "mtp_file")
	}
	p.h.quant = parseQuant(p.root)
	if p.h.quant == nil && p.text != p.root {
		p.h.quant = parseQuant(p.text)
	}
}

func (p *configParser) fileName(f *fields, key string) string {
	name := f.textOr(key, "")
	if name == "" {
		return ""
	}
	if err := plainName(name); err != nil {
		f.wrong(key, "a plain file name inside the pack's folder")
		return ""
	}
	return name
}

// products bounds what sizes make together.
func (p *configParser) products() {
	if !p.ok() {
		return
	}
	c, t := &p.c, p.text
	for _, x := range []struct {
		what  string
		n     int
		limit int
	}{
		{"hc_count * hidden_size", c.Width(), maxWidth},
		{"num_attention_heads * head_dim", c.Heads * c.HeadDim, maxWidth},
		{"indexer_n_heads * indexer_head_dim", c.IndexHeads * c.IndexDim, maxWidth},
		{"the columns of in_proj_qkv", c.QKV(), maxWidth},
		{"linear_num_value_heads * linear_key_head_dim * linear_value_head_dim", c.ValueHeads * c.KeyDim * c.ValueDim, maxState},
	} {
		if x.n > x.limit {
			t.fail(corrupt("config.json: %s: got %d, want at most %d", x.what, x.n, x.limit))
		}
	}
}

package pack

import "fmt"

// Kind says what a [Piece] is, and so how a container may write it.
type Kind uint8

// The kinds of pieces a model is made of.
const (
	Matrix  Kind = iota // linear weight [Rows, Cols] (out, in)
	Experts             // a layer's routed experts: Stack gate and up projections [Rows, Cols], Stack down ones [Cols, Rows]
	Norm                // weight [Rows] of a zero-centred norm: containers store w or 1+w (spec 5.2)
	Vector              // [Rows] values that every container stores as they are
	Conv                // depthwise convolution of Rows channels and Cols taps
	Ints                // Rows integers, the hash constants; a container may leave them out
	Table               // the n-gram table of the PLE layer Index
)

// Piece is one thing that a model is made of, under its canonical name: without the container's prefix, and without
// ".weight" ("layers.3.self_attn.q_proj"). Routed experts go by their block ("layers.3.mlp").
type Piece struct {
	Kind              Kind
	Name              string
	Stack, Rows, Cols int // what is not of the kind is 0; Rows and Cols of a table are for the pack to say
	Index             int // Table and Ints: which PLE layer, from 0
}

// Trunk lists all pieces of the model without the MTP head (spec 5.1).
func (c *Config) Trunk() []Piece {
	l := pieces{c: c}
	l.matrix("embed_tokens", c.Vocab, c.Hidden)
	l.matrix("lm_head", c.Vocab, c.Hidden)
	l.mixer("hyper_connection_mixer", false)
	for i, kind := range c.Kinds {
		layer := fmt.Sprintf("layers.%d", i)
		if kind == KindGDN {
			l.delta(layer + ".linear_attn")
		} else {
			l.attention(layer + ".self_attn")
		}
		l.block(layer)
	}
	for k, i := range c.PLELayers {
		l.ple(fmt.Sprintf("layers.%d.ple", i), k)
	}
	return l.list
}

// Head lists all pieces of the MTP head, whether this model has one or not.
func (c *Config) Head() []Piece {
	l := pieces{c: c}
	l.norm("mtp.pre_fc_norm_embedding", c.Hidden)
	l.norm("mtp.pre_fc_norm_hidden", c.Width())
	l.matrix("mtp.fc_embedding", c.Hidden, c.Hidden)
	l.matrix("mtp.fc_hidden", c.Hidden, c.Hidden)
	l.mixer("mtp.hyper_connection_mixer", false)
	l.attention("mtp.layers.0.self_attn")
	l.block("mtp.layers.0")
	return l.list
}

// pieces gathers a list.
type pieces struct {
	c    *Config
	list []Piece
}

func (l *pieces) matrix(name string, rows, cols int) {
	l.list = append(l.list, Piece{Kind: Matrix, Name: name, Rows: rows, Cols: cols})
}

func (l *pieces) norm(name string, n int) {
	l.list = append(l.list, Piece{Kind: Norm, Name: name, Rows: n})
}

func (l *pieces) vector(name string, n int) {
	l.list = append(l.list, Piece{Kind: Vector, Name: name, Rows: n})
}

func (l *pieces) conv(name string, channels, taps int) {
	l.list = append(l.list, Piece{Kind: Conv, Name: name, Rows: channels, Cols: taps})
}

// block is what layers of both kinds share: two gated residuals and the MoE.
func (l *pieces) block(layer string) {
	c := l.c
	l.mixer(layer+".attn_hyper_connection", true)
	l.mixer(layer+".mlp_hyper_connection", true)
	mlp := layer + ".mlp"
	l.matrix(mlp+".gate", c.Experts, c.Hidden)
	l.matrix(mlp+".shared_expert.gate_proj", c.SharedInner, c.Hidden)
	l.matrix(mlp+".shared_expert.up_proj", c.SharedInner, c.Hidden)
	l.matrix(mlp+".shared_expert.down_proj", c.Hidden, c.SharedInner)
	l.matrix(mlp+".shared_expert_gate", 1, c.Hidden)
	l.list = append(l.list, Piece{Kind: Experts, Name: mlp, Stack: c.Experts, Rows: c.ExpertInner, Cols: c.Hidden})
}

func (l *pieces) mixer(prefix string, inject bool) {
	c := l.c
	l.norm(prefix+".hc_norm", c.Width())
	l.matrix(prefix+".input_mix_weight_down", c.LowRank, c.Width())
	l.matrix(prefix+".input_mix_weight_up", c.Width(), c.LowRank)
	if inject {
		l.matrix(prefix+".block_inject_weight", c.Streams, c.Width())
	}
}

func (l *pieces) delta(prefix string) {
	c := l.c
	inner := c.ValueHeads * c.ValueDim
	l.matrix(prefix+".in_proj_qkv", c.QKV(), c.Hidden)
	l.matrix(prefix+".in_proj_z", inner, c.Hidden)
	l.matrix(prefix+".in_proj_b", c.ValueHeads, c.Hidden)
	l.matrix(prefix+".in_proj_a", c.ValueHeads, c.Hidden)
	l.conv(prefix+".conv1d", c.QKV(), c.Conv)
	l.vector(prefix+".A_log", c.ValueHeads)
	l.vector(prefix+".dt_bias", c.ValueHeads)
	l.vector(prefix+".norm", c.ValueDim)
	l.matrix(prefix+".out_proj", c.Hidden, inner)
}

func (l *pieces) attention(prefix string) {
	c := l.c
	inner := c.Heads * c.HeadDim
	l.matrix(prefix+".q_proj", 2*inner, c.Hidden)
	l.matrix(prefix+".k_proj", c.KVDim(), c.Hidden)
	l.matrix(prefix+".v_proj", c.KVDim(), c.Hidden)
	l.matrix(prefix+".o_proj", c.Hidden, inner)
	l.norm(prefix+".q_norm", c.HeadDim)
	l.norm(prefix+".k_norm", c.HeadDim)
	l.matrix(prefix+".indexer.index_qk_proj", (c.IndexHeads+1)*c.IndexDim, c.Hidden)
	l.norm(prefix+".indexer.q_layernorm", c.IndexDim)
	l.norm(prefix+".indexer.k_layernorm", c.IndexDim)
}

func (l *pieces) ple(prefix string, k int) {
	c := l.c
	l.matrix(prefix+".key_proj", c.Width(), c.PLEDim)
	l.matrix(prefix+".value_proj", c.Hidden, c.PLEDim)
	for _, n := range []string{".norm_key", ".norm_query", ".norm_conv"} {
		l.norm(prefix+n, c.Width())
	}
	l.conv(prefix+".conv1d", c.Width(), c.PLEConv)
	l.list = append(l.list, Piece{Kind: Table, Name: prefix + ".ple_embedding.ngram_embedding", Index: k})
	for _, b := range []struct {
		name string
		n    int
	}{{"layer_multipliers", c.NgramSize}, {"ngram_heads_vocab_sizes", c.NgramHeads()}, {"ngram_heads_offsets", c.NgramHeads()}} {
		l.list = append(l.list, Piece{Kind: Ints, Name: prefix + ".ple_embedding." + b.name, Rows: b.n, Index: k})
	}
}

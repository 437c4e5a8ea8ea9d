package packtest

import (
	"fmt"
	"math"

	"github.com/flashlane/flashlane/engine/pack"
)

// embedScale is the standard deviation of embedding entries. It sets how much of a token survives in the streams, and so
// how often the draft head agrees with the trunk: one first draft in five (T = 0) to two in five (T = 1), measured.
// Tied embeddings are smaller, or each token would predict itself.
func (b *builder) embedScale() float64 {
	if b.tied() {
		return 0.3
	}
	return 1.6
}

func (b *builder) tied() bool { return b.g.Tied || b.o.Tied }

func (b *builder) rowDim() int { return b.g.PLEDim / (b.g.HeadsPerNgram * (b.g.NgramSize - 1)) }

// model adds every tensor of the model (spec 5.1).
func (b *builder) model() {
	g := &b.g
	root := math.Sqrt(float64(g.Hidden))
	b.matrix("embed_tokens", g.Vocab, g.Hidden, b.embedScale()*root)
	if !b.tied() {
		b.matrix("lm_head", g.Vocab, g.Hidden, 4)
	}
	b.mixer("hyper_connection_mixer", false)
	for i, kind := range g.Kinds {
		layer := fmt.Sprintf("layers.%d", i)
		if kind == pack.KindGDN {
			b.delta(layer + ".linear_attn")
		} else {
			b.attention(layer + ".self_attn")
		}
		b.block(layer)
	}
	for k, id := range g.PLELayerIDs {
		b.ple(fmt.Sprintf("layers.%d.ple", id-1), k)
	}
	if b.o.WithMTP {
		b.mtp()
	}
}

func (b *builder) mixer(prefix string, inject bool) {
	g := &b.g
	w := g.Streams * g.Hidden
	b.norm(prefix+".hc_norm", w)
	b.matrix(prefix+".input_mix_weight_down", g.LowRank, w, float64(g.Streams)) // the sum is divided by the streams
	b.matrix(prefix+".input_mix_weight_up", w, g.LowRank, 1)
	if inject {
		b.matrix(prefix+".block_inject_weight", g.Streams, w, float64(g.Streams)/2)
	}
}

func (b *builder) block(layer string) {
	g := &b.g
	b.mixer(layer+".attn_hyper_connection", true)
	b.mixer(layer+".mlp_hyper_connection", true)
	mlp := layer + ".mlp"
	b.matrix(mlp+".gate", g.Experts, g.Hidden, 3)
	b.experts(mlp)
	b.matrix(mlp+".shared_expert.gate_proj", g.SharedInner, g.Hidden, 1.5)
	b.matrix(mlp+".shared_expert.up_proj", g.SharedInner, g.Hidden, 1.5)
	b.matrix(mlp+".shared_expert.down_proj", g.Hidden, g.SharedInner, 1)
	b.matrix(mlp+".shared_expert_gate", 1, g.Hidden, 2)
}

func (b *builder) delta(p string) {
	g := &b.g
	inner := g.ValueHeads * g.ValueDim
	qkv := 2*g.KeyHeads*g.KeyDim + inner
	b.matrix(p+".in_proj_qkv", qkv, g.Hidden, 3)
	b.matrix(p+".in_proj_z", inner, g.Hidden, 2)
	b.matrix(p+".in_proj_b", g.ValueHeads, g.Hidden, 2)
	b.matrix(p+".in_proj_a", g.ValueHeads, g.Hidden, 2)
	b.conv(p+".conv1d.weight", p+".conv1d.weight", qkv, g.Conv)
	b.vector(p+".A_log", uniforms(random(b.seed, p+".A_log"), g.ValueHeads, -1.5, 1))
	b.vector(p+".dt_bias", uniforms(random(b.seed, p+".dt_bias"), g.ValueHeads, -3, 0))
	w := offsets(random(b.seed, p+".norm"), g.ValueDim)
	for i := range w {
		w[i] += 1 // raw in every layout
	}
	b.vector(p+".norm.weight", w)
	b.matrix(p+".out_proj", g.Hidden, inner, 0.7)
}

func (b *builder) attention(p string) {
	g := &b.g
	inner := g.Heads * g.HeadDim
	b.matrix(p+".q_proj", 2*inner, g.Hidden, 2)
	b.matrix(p+".k_proj", g.KVHeads*g.HeadDim, g.Hidden, 2)
	b.matrix(p+".v_proj", g.KVHeads*g.HeadDim, g.Hidden, 2)
	b.matrix(p+".o_proj", g.Hidden, inner, 1)
	b.norm(p+".q_norm", g.HeadDim)
	b.norm(p+".k_norm", g.HeadDim)
	b.matrix(p+".indexer.index_qk_proj", (g.IndexHeads+1)*g.IndexDim, g.Hidden, 2)
	b.norm(p+".indexer.q_layernorm", g.IndexDim)
	b.norm(p+".indexer.k_layernorm", g.IndexDim)
}

func (b *builder) mtp() {
	g := &b.g
	h := g.Hidden
	b.norm("mtp.pre_fc_norm_embedding", h)
	b.norm("mtp.pre_fc_norm_hidden", g.Streams*h)
	// Near the identity at the embedding's scale: the draft's streams then start where the trunk's do.
	fc := normals(random(b.seed, "mtp.fc_embedding"), h*h, 0.05*b.embedScale()/math.Sqrt(float64(h)))
	for i := range h {
		fc[i*h+i] = exact(b.embedScale())
	}
	b.linear("mtp.fc_embedding", fc, 0, h, h)
	b.matrix("mtp.fc_hidden", h, h, 0.3)
	b.mixer("mtp.hyper_connection_mixer", false)
	b.attention("mtp.layers.0.self_attn")
	b.block("mtp.layers.0")
}

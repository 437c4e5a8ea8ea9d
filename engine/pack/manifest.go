package pack

import (
	"fmt"
)

// manifest walks every tensor of a part of the model through a lookup and gathers what is wrong (spec 5.1).
type manifest struct {
	l    lookup
	errs []error
}

func (m *manifest) add(err error) {
	if err != nil {
		m.errs = append(m.errs, err)
	}
}

func (m *manifest) linear(name string, rows, cols int) {
	_, err := m.l.linear(name, rows, cols)
	m.add(err)
}

func (m *manifest) vector(name string, n int) {
	_, err := m.l.vector(name, n)
	m.add(err)
}

func (m *manifest) conv(name string, channels, taps int) {
	_, err := m.l.conv(name, channels, taps)
	m.add(err)
}

func (m *manifest) trunk() {
	c := &m.l.p.Config
	m.linear("embed_tokens", c.Vocab, c.Hidden)
	m.linear("lm_head", c.Vocab, c.Hidden)
	m.mixer("hyper_connection_mixer", false)
	for i, kind := range c.Kinds {
		layer := fmt.Sprintf("layers.%d", i)
		if kind == KindGDN {
			m.delta(layer + ".linear_attn")
		} else {
			m.attention(layer + ".self_attn")
		}
		m.block(layer)
	}
	for k, i := range c.PLELayers {
		m.ple(fmt.Sprintf("layers.%d.ple", i), k)
	}
}

// block is what layers of both kinds share: two gated residuals and the MoE.
func (m *manifest) block(layer string) {
	c := &m.l.p.Config
	m.mixer(layer+".attn_hyper_connection", true)
	m.mixer(layer+".mlp_hyper_connection", true)
	mlp := layer + ".mlp"
	m.linear(mlp+".gate", c.Experts, c.Hidden)
	m.linear(mlp+".shared_expert.gate_proj", c.SharedInner, c.Hidden)
	m.linear(mlp+".shared_expert.up_proj", c.SharedInner, c.Hidden)
	m.linear(mlp+".shared_expert.down_proj", c.Hidden, c.SharedInner)
	m.linear(mlp+".shared_expert_gate", 1, c.Hidden)
	_, _, _, err := m.l.experts(mlp)
	m.add(err)
}

func (m *manifest) mixer(prefix string, inject bool) {
	c := &m.l.p.Config
	m.vector(prefix+".hc_norm", c.Width())
	m.linear(prefix+".input_mix_weight_down", c.LowRank, c.Width())
	m.linear(prefix+".input_mix_weight_up", c.Width(), c.LowRank)
	if inject {
		m.linear(prefix+".block_inject_weight", c.Streams, c.Width())
	}
}

func (m *manifest) delta(prefix string) {
	c := &m.l.p.Config
	inner := c.ValueHeads * c.ValueDim
	m.linear(prefix+".in_proj_qkv", c.QKV(), c.Hidden)
	m.linear(prefix+".in_proj_z", inner, c.Hidden)
	m.linear(prefix+".in_proj_b", c.ValueHeads, c.Hidden)
	m.linear(prefix+".in_proj_a", c.ValueHeads, c.Hidden)
	m.conv(prefix+".conv1d", c.QKV(), c.Conv)
	m.vector(prefix+".A_log", c.ValueHeads)
	m.vector(prefix+".dt_bias", c.ValueHeads)
	m.vector(prefix+".norm", c.ValueDim)
	m.linear(prefix+".out_proj", c.Hidden, inner)
}

func (m *manifest) attention(prefix string) {
	c := &m.l.p.Config
	inner := c.Heads * c.HeadDim
	m.linear(prefix+".q_proj", 2*inner, c.Hidden)
	m.linear(prefix+".k_proj", c.KVDim(), c.Hidden)
	m.linear(prefix+".v_proj", c.KVDim(), c.Hidden)
	m.linear(prefix+".o_proj", c.Hidden, inner)
	m.vector(prefix+".q_norm", c.HeadDim)
	m.vector(prefix+".k_norm", c.HeadDim)
	m.linear(prefix+".indexer.index_qk_proj", (c.IndexHeads+1)*c.IndexDim, c.Hidden)
	m.vector(prefix+".indexer.q_layernorm", c.IndexDim)
	m.vector(prefix+".indexer.k_layernorm", c.IndexDim)
}

func (m *manifest) ple(prefix string, k int) {
	c := &m.l.p.Config
	m.linear(prefix+".key_proj", c.Width(), c.PLEDim)
	m.linear(prefix+".value_proj", c.Hidden, c.PLEDim)
	for _, n := range []string{".norm_key", ".norm_query", ".norm_conv"} {
		m.vector(prefix+n, c.Width())
	}
	m.conv(prefix+".conv1d", c.Width(), c.PLEConv)
	_, err := m.l.table(k)
	m.add(err)
	for _, b := range []struct {
		name string
		n    int
	}{{"layer_multipliers", c.NgramSize}, {"ngram_heads_vocab_sizes", c.NgramHeads()}, {"ngram_heads_offsets", c.NgramHeads()}} {
		_, _, err := m.l.ints(prefix+".ple_embedding."+b.name, b.n)
		m.add(err)
	}
}

func (m *manifest) head() {
	c := &m.l.p.Config
	m.vector("mtp.pre_fc_norm_embedding", c.Hidden)
	m.vector("mtp.pre_fc_norm_hidden", c.Width())
	m.linear("mtp.fc_embedding", c.Hidden, c.Hidden)
	m.linear("mtp.fc_hidden", c.Hidden, c.Hidden)
	m.mixer("mtp.hyper_connection_mixer", false)
	m.attention("mtp.layers.0.self_attn")
	m.block("mtp.layers.0")
}

package pack_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

func bf16(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// values widens every part of a weight to f32, one after the other.
func values(t testing.TB, w metal.WeightSpec) []float32 {
	t.Helper()
	var out []float32
	for _, p := range w.Parts {
		for i := range w.Rows * w.Cols {
			switch w.Format {
			case metal.FormatF32:
				out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(p.Data[4*i:])))
			case metal.FormatBF16:
				out = append(out, bf16(p.Data[2*i:]))
			case metal.FormatF16:
				out = append(out, half(binary.LittleEndian.Uint16(p.Data[2*i:])))
			case metal.FormatQ8:
				g := i / w.Group
				out = append(out, bf16(p.Scales[2*g:])*float32(p.Data[i])+bf16(p.Biases[2*g:]))
			case metal.FormatQ4:
				g := i / w.Group
				out = append(out, bf16(p.Scales[2*g:])*float32(p.Data[i/2]>>(4*(i%2))&15)+bf16(p.Biases[2*g:]))
			}
		}
	}
	return out
}

// half widens normal f16 numbers and zero.
func half(h uint16) float32 {
	v := math.Ldexp(float64(h&0x3ff)/1024+1, int(h>>10&31)-15)
	if h&0x7fff == 0 {
		v = 0
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return float32(v)
}

// rows reads a whole n-gram table.
func rows(t testing.TB, spec ple.TableSpec) []float32 {
	t.Helper()
	table, err := ple.OpenTable(spec)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, table.RowBytes())
	out := make([]float32, int(table.Rows())*table.Dim())
	for r := range table.Rows() {
		if err := table.Read(raw, r); err != nil {
			t.Fatal(err)
		}
		table.Dequant(out[int(r)*table.Dim():][:table.Dim()], raw)
	}
	return out
}

// contents reads the whole model through the accessors, as engine/model does: values by canonical name.
func contents(t testing.TB, p *pack.Pack) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	c := &p.Config
	keep := func(name string, v []float32, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = v
	}
	linear := func(name string, rows, cols int) {
		t.Helper()
		w, err := p.Linear(name, rows, cols)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		keep(name, values(t, w), nil)
	}
	norm := func(name string, n int) { t.Helper(); v, err := p.Norm(name, n); keep(name, v, err) }
	vector := func(name string, n int) { t.Helper(); v, err := p.Vector(name, n); keep(name, v, err) }
	conv := func(name string, ch, taps int) { t.Helper(); v, err := p.Conv(name, ch, taps); keep(name, v, err) }
	mixer := func(name string, inject bool) {
		t.Helper()
		norm(name+".hc_norm", c.Width())
		linear(name+".input_mix_weight_down", c.LowRank, c.Width())
		linear(name+".input_mix_weight_up", c.Width(), c.LowRank)
		if inject {
			linear(name+".block_inject_weight", c.Streams, c.Width())
		}
	}
	attention := func(name string) {
		t.Helper()
		linear(name+".q_proj", 2*c.Heads*c.HeadDim, c.Hidden)
		linear(name+".k_proj", c.KVDim(), c.Hidden)
		linear(name+".v_proj", c.KVDim(), c.Hidden)
		linear(name+".o_proj", c.Hidden, c.Heads*c.HeadDim)
		norm(name+".q_norm", c.HeadDim)
		norm(name+".k_norm", c.HeadDim)
		linear(name+".indexer.index_qk_proj", (c.IndexHeads+1)*c.IndexDim, c.Hidden)
		norm(name+".indexer.q_layernorm", c.IndexDim)
		norm(name+".indexer.k_layernorm", c.IndexDim)
	}
	block := func(layer string) {
		t.Helper()
		mixer(layer+".attn_hyper_connection", true)
		mixer(layer+".mlp_hyper_connection", true)
		linear(layer+".mlp.gate", c.Experts, c.Hidden)
		gate, up, down, err := p.Experts(layer + ".mlp")
		if err != nil {
			t.Fatalf("%s: %v", layer, err)
		}
		keep(layer+".gate", values(t, gate), nil)
		keep(layer+".up", values(t, up), nil)
		keep(layer+".down", values(t, down), nil)
		linear(layer+".mlp.shared_expert.gate_proj", c.SharedInner, c.Hidden)
		linear(layer+".mlp.shared_expert.up_proj", c.SharedInner, c.Hidden)
		linear(layer+".mlp.shared_expert.down_proj", c.Hidden, c.SharedInner)
		linear(layer+".mlp.shared_expert_gate", 1, c.Hidden)
	}
	linear("embed_tokens", c.Vocab, c.Hidden)
	linear("lm_head", c.Vocab, c.Hidden)
	mixer("hyper_connection_mixer", false)
	for i, kind := range c.Kinds {
		layer := "layers." + string(rune('0'+i/10)) + string(rune('0'+i%10))
		layer = strings.Replace(layer, ".0", ".", 1)
		if kind == pack.KindQSA {
			attention(layer + ".self_attn")
		} else {
			n := layer + ".linear_attn"
			linear(n+".in_proj_qkv", c.QKV(), c.Hidden)
			linear(n+".in_proj_z", c.ValueHeads*c.ValueDim, c.Hidden)
			linear(n+".in_proj_b", c.ValueHeads, c.Hidden)
			linear(n+".in_proj_a", c.ValueHeads, c.Hidden)
			conv(n+".conv1d", c.QKV(), c.Conv)
			vector(n+".A_log", c.ValueHeads)
			vector(n+".dt_bias", c.ValueHeads)
			vector(n+".norm.weight", c.ValueDim)
			linear(n+".out_proj", c.Hidden, c.ValueHeads*c.ValueDim)
		}
		block(layer)
	}
	for k, i := range c.PLELayers {
		n := "layers." + string(rune('0'+i)) + ".ple"
		linear(n+".key_proj", c.Width(), c.PLEDim)
		linear(n+".value_proj", c.Hidden, c.PLEDim)
		norm(n+".norm_key", c.Width())
		norm(n+".norm_query", c.Width())
		norm(n+".norm_conv", c.Width())
		conv(n+".conv1d", c.Width(), c.PLEConv)
		table, err := p.NgramTable(k)
		if err != nil {
			t.Fatal(err)
		}
		keep(n+".table", rows(t, table), nil)
	}
	if ok, _ := p.HasMTP(); ok {
		norm("mtp.pre_fc_norm_embedding", c.Hidden)
		norm("mtp.pre_fc_norm_hidden", c.Width())
		linear("mtp.fc_embedding", c.Hidden, c.Hidden)
		linear("mtp.fc_hidden", c.Hidden, c.Hidden)
		mixer("mtp.hyper_connection_mixer", false)
		attention("mtp.layers.0.self_attn")
		block("mtp.layers.0")
	}
	return out
}

// wantError checks the sentinel and that the text has every part.
func wantError(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want %v with %q", kind, parts)
	}
	if !errors.Is(err, kind) {
		t.Errorf("got %q, want it to wrap %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want it to have %q", err, part)
		}
	}
}

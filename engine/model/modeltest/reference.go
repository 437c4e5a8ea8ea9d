package modeltest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// Reference is a second implementation of the whole family, written from the spec alone: float64, one loop per sum, the
// whole sequence at once, no caches, no ops of a device. It is slow and only for small packs. What it shares with the
// engine is the pack reader.
type Reference struct {
	t   testing.TB
	p   *pack.Pack
	cfg pack.Config

	weights map[string][][]float64
}

// NewReference returns the reference for a pack whose weights are not quantised.
func NewReference(t testing.TB, p *pack.Pack) *Reference {
	return &Reference{t: t, p: p, cfg: p.Config, weights: map[string][][]float64{}}
}

// Trunk is what the trunk makes of a sequence.
type Trunk struct {
	Streams [][]float64     // after the last layer, [T][S*H]
	Logits  [][]float64     // [T][V]
	Blocks  map[int][][]int // blocks chosen, by attention layer and position
}

func (r *Reference) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func decode(b []byte, f metal.Format) []float64 {
	switch f {
	case metal.FormatF32:
		out := make([]float64, len(b)/4)
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
		return out
	case metal.FormatBF16:
		out := make([]float64, len(b)/2)
		for i := range out {
			out[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		}
		return out
	}
	panic(fmt.Sprintf("reference: format %v", f))
}

func matrix(b []byte, f metal.Format, cols int) [][]float64 {
	flat := decode(b, f)
	m := make([][]float64, len(flat)/cols)
	for i := range m {
		m[i] = flat[i*cols : (i+1)*cols]
	}
	return m
}

// w is the weight called name, [rows][cols].
func (r *Reference) w(name string, rows, cols int) [][]float64 {
	r.t.Helper()
	if m, ok := r.weights[name]; ok {
		return m
	}
	spec, err := r.p.Linear(name, rows, cols)
	r.check(err)
	m := matrix(spec.Parts[0].Data, spec.Format, cols)
	r.weights[name] = m
	return m
}

func wide(f []float32, err error) ([]float64, error) {
	out := make([]float64, len(f))
	for i, x := range f {
		out[i] = float64(x)
	}
	return out, err
}

func (r *Reference) norm(name string, n int) []float64 {
	f, err := wide(r.p.Norm(name, n))
	r.check(err)
	return f
}

func (r *Reference) vector(name string, n int) []float64 {
	f, err := wide(r.p.Vector(name, n))
	r.check(err)
	return f
}

func mul(w [][]float64, x []float64) []float64 {
	y := make([]float64, len(w))
	for i := range w {
		for j := range x {
			y[i] += w[i][j] * x[j]
		}
	}
	return y
}

// rms is the RMS norm of groups equal parts, times w.
func rms(x, w []float64, groups int, eps float64) []float64 {
	y := make([]float64, len(x))
	n := len(x) / groups
	for g := range groups {
		sum := 0.0
		for i := g * n; i < (g+1)*n; i++ {
			sum += x[i] * x[i]
		}
		for i := g * n; i < (g+1)*n; i++ {
			y[i] = x[i] / math.Sqrt(sum/float64(n)+eps) * w[i]
		}
	}
	return y
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func silu(x float64) float64 { return x * sigmoid(x) }

// mix is spec 2.2; c is nil for a final mixer.
func (r *Reference) mix(x []float64, prefix string, inject bool) (u, c []float64) {
	cfg := r.cfg
	s, w := float64(cfg.Streams), cfg.Streams*cfg.Hidden
	n := rms(x, r.norm(prefix+".hc_norm", w), cfg.Streams, float64(cfg.Eps))
	l := mul(r.w(prefix+".input_mix_weight_down", cfg.LowRank, w), n)
	for i := range l {
		l[i] = silu(l[i] / s)
	}
	m := mul(r.w(prefix+".input_mix_weight_up", w, cfg.LowRank), l)
	u = make([]float64, cfg.Hidden)
	for i := range m {
		u[i%cfg.Hidden] += sigmoid(m[i]) * n[i] / s
	}
	if inject {
		c = mul(r.w(prefix+".block_inject_weight", cfg.Streams, w), n)
		for i := range c {
			c[i] = 2 * sigmoid(c[i]/s)
		}
	}
	return u, c
}

func (r *Reference) inject(x, c, y []float64) {
	for i := range x {
		x[i] += c[i/r.cfg.Hidden] * y[i%r.cfg.Hidden]
	}
}

// moe is spec 2.6.
func (r *Reference) moe(u []float64, prefix string) []float64 {
	cfg := r.cfg
	logits := mul(r.w(prefix+".gate", cfg.Experts, cfg.Hidden), u)
	top := slices.Max(logits)
	sum := 0.0
	for i, x := range logits {
		logits[i] = math.Exp(x - top)
		sum += logits[i]
	}
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
		logits[i] /= sum
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return a - b
	})
	order = order[:cfg.TopK]
	sum = 1
	if cfg.RenormTopK {
		sum = 0
		for _, e := range order {
			sum += logits[e]
		}
	}
	gate, up, down, err := r.p.Experts(prefix)
	r.check(err)
	ffn := func(g, u2, d [][]float64) []float64 {
		a, b := mul(g, u), mul(u2, u)
		for i := range a {
			a[i] = silu(a[i]) * b[i]
		}
		return mul(d, a)
	}
	y := make([]float64, cfg.Hidden)
	for _, e := range order {
		for i, v := range ffn(matrix(gate.Parts[e].Data, gate.Format, cfg.Hidden), matrix(up.Parts[e].Data, up.Format, cfg.Hidden),
			matrix(down.Parts[e].Data, down.Format, cfg.ExpertInner)) {
			y[i] += logits[e] / sum * v
		}
	}
	shared := ffn(r.w(prefix+".shared_expert.gate_proj", cfg.SharedInner, cfg.Hidden),
		r.w(prefix+".shared_expert.up_proj", cfg.SharedInner, cfg.Hidden),
		r.w(prefix+".shared_expert.down_proj", cfg.Hidden, cfg.SharedInner))
	g := sigmoid(mul(r.w(prefix+".shared_expert_gate", 1, cfg.Hidden), u)[0])
	for i := range y {
		y[i] += g * shared[i]
	}
	return y
}

// layer runs one layer over all positions: block, then experts.
func (r *Reference) layer(xs [][]float64, prefix string, block func(us [][]float64) [][]float64) {
	us, cs := make([][]float64, len(xs)), make([][]float64, len(xs))
	for t, x := range xs {
		us[t], cs[t] = r.mix(x, prefix+".attn_hyper_connection", true)
	}
	for t, y := range block(us) {
		r.inject(xs[t], cs[t], y)
	}
	for _, x := range xs {
		u, c := r.mix(x, prefix+".mlp_hyper_connection", true)
		r.inject(x, c, r.moe(u, prefix+".mlp"))
	}
}

// Trunk runs the trunk over a whole sequence.
func (r *Reference) Trunk(tokens []int32) Trunk {
	cfg := r.cfg
	out := Trunk{Blocks: map[int][][]int{}}
	embed := r.w("embed_tokens", cfg.Vocab, cfg.Hidden)
	for _, id := range tokens {
		var x []float64
		for range cfg.Streams {
			x = append(x, embed[id]...)
		}
		out.Streams = append(out.Streams, x)
	}
	for i, kind := range cfg.Kinds {
		prefix := fmt.Sprintf("layers.%d", i)
		if k := slices.Index(cfg.PLELayers, i); k >= 0 {
			r.plane(out.Streams, tokens, prefix+".ple", k)
		}
		r.layer(out.Streams, prefix, func(us [][]float64) [][]float64 {
			if kind == pack.KindGDN {
				return r.delta(us, prefix+".linear_attn")
			}
			ys, blocks := r.attention(us, prefix+".self_attn", cfg.Rope.Theta)
			out.Blocks[i] = blocks
			return ys
		})
	}
	for _, x := range out.Streams {
		out.Logits = append(out.Logits, r.head(x, "hyper_connection_mixer"))
	}
	return out
}

func (r *Reference) head(x []float64, mixer string) []float64 {
	u, _ := r.mix(x, mixer, false)
	name := "lm_head"
	if r.cfg.Tied {
		name = "embed_tokens"
	}
	return mul(r.w(name, r.cfg.Vocab, r.cfg.Hidden), u)
}

// MTP runs the head over rows (streams, next token) from position 0 and returns the streams of all rows and the draft
// logits of the last (spec 3.1).
func (r *Reference) MTP(streams [][]float64, next []int32) (out [][]float64, logits []float64) {
	cfg := r.cfg
	h, w, eps := cfg.Hidden, cfg.Streams*cfg.Hidden, float64(cfg.Eps)
	embed := r.w("embed_tokens", cfg.Vocab, h)
	for t, x := range streams {
		ev := mul(r.w("mtp.fc_embedding", h, h), rms(embed[next[t]], r.norm("mtp.pre_fc_norm_embedding", h), 1, eps))
		hn := rms(x, r.norm("mtp.pre_fc_norm_hidden", w), 1, eps)
		var z []float64
		for s := range cfg.Streams {
			v := mul(r.w("mtp.fc_hidden", h, h), hn[s*h:(s+1)*h])
			for i := range v {
				v[i] += ev[i]
			}
			z = append(z, v...)
		}
		out = append(out, z)
	}
	r.layer(out, "mtp.layers.0", func(us [][]float64) [][]float64 {
		ys, _ := r.attention(us, "mtp.layers.0.self_attn", cfg.MTPRope.Theta)
		return ys
	})
	return out, r.head(out[len(out)-1], "mtp.hyper_connection_mixer")
}

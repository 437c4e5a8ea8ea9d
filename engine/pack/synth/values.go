package synth

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// Values makes a random model's numbers; it is an [mlx.Values].
type Values struct {
	seed   uint64
	config *pack.Config
}

// NewValues makes the numbers of a seed for a geometry.
func NewValues(seed uint64, c *pack.Config) *Values { return &Values{seed, c} }

// stream is a tensor's. The head's final mixer has the trunk's numbers, so that its drafts come near.
func (v *Values) stream(name string) stream {
	if rest, ok := strings.CutPrefix(name, "mtp."); ok && strings.HasPrefix(rest, "hyper_connection_mixer") {
		name = rest
	}
	return newStream(v.seed, name)
}

// Rows opens a matrix.
func (v *Values) Rows(m mlx.Weights, f quantise.Format) (mlx.Rows, error) {
	dev := v.deviation(m)
	if m.Name == "mtp.fc_embedding" {
		return v.nearIdentity(m, dev), nil
	}
	return rows(v.stream(m.Name), m, f, dev), nil
}

// Table opens the table of the k-th PLE layer, in one part.
func (v *Values) Table(k int, f func(dim int) quantise.Format) (mlx.Weights, mlx.Rows, error) {
	n, err := v.config.NgramGeometry().Rows(k)
	if err != nil {
		return mlx.Weights{}, mlx.Rows{}, err
	}
	m := mlx.Weights{Name: "ngram." + strconv.Itoa(k), Rows: int(n), Cols: v.config.RowDim()}
	return m, rows(v.stream(m.Name), m, f(m.Cols), 0.5), nil
}

// rows draws a matrix of standard deviation dev: floats for bf16, else codes.
func rows(s stream, m mlx.Weights, f quantise.Format, dev float64) mlx.Rows {
	element := func(part, from int) uint64 { return (uint64(part)*uint64(m.Rows) + uint64(from)) * uint64(m.Cols) }
	if !f.Quantised() {
		b := newBell(dev)
		return mlx.Rows{Values: func(dst []float32, part, from int) error {
			b.fill(dst, s, element(part, from))
			return nil
		}}
	}
	p := newPalette(dev, f.Bits)
	side := ^s // another stream for the groups
	return mlx.Rows{Codes: func(weight, scales, biases []byte, part, from int) error {
		at := element(part, from)
		s.bytes(weight, at*uint64(f.Bits)/8)
		p.fill(scales, biases, side, at/uint64(f.Group))
		return nil
	}}
}

// palette is 16 pairs of a bf16 scale and bias for codes that are uniform: values have mean zero, and a standard deviation
// that differs from group to group by up to a quarter.
type palette [16]struct{ scale, bias uint16 }

func newPalette(dev float64, bits int) *palette {
	var p palette
	top := float64(int(1)<<bits - 1)
	step := dev / math.Sqrt((top*top+2*top)/12) // the deviation of a uniform code from 0 to top is sqrt(((top+1)^2-1)/12)
	for i := range p {
		scale := round(step * (0.75 + float64(i)/30))
		p[i].scale = pack.RoundBF16(scale)
		p[i].bias = pack.RoundBF16(float32(-float64(scale) * top / 2))
	}
	return &p
}

// fill draws the pairs of groups from the first on; 16 come from each word.
func (p *palette) fill(scales, biases []byte, s stream, first uint64) {
	for i := range len(scales) / 2 {
		g := first + uint64(i)
		x := p[s.word(g/16)>>(4*(g%16))&15]
		binary.LittleEndian.PutUint16(scales[2*i:], x.scale)
		binary.LittleEndian.PutUint16(biases[2*i:], x.bias)
	}
}

// nearIdentity is the head's embedding projection: with the embedding's scale on the diagonal and little beside it, a
// draft's streams start where the trunk's do.
func (v *Values) nearIdentity(m mlx.Weights, dev float64) mlx.Rows {
	b, s := newBell(dev), v.stream(m.Name)
	return mlx.Rows{Values: func(dst []float32, _, from int) error {
		b.fill(dst, s, uint64(from)*uint64(m.Cols))
		for i := range len(dst) / m.Cols {
			dst[i*m.Cols+from+i] = round(v.embedding())
		}
		return nil
	}}
}

// embedding is the standard deviation of embedding entries: how much of a token survives in the streams. Tied embeddings
// are smaller, or each token would predict itself.
func (v *Values) embedding() float64 {
	if v.config.Tied {
		return 0.3
	}
	return 1.6
}

// deviation is a matrix's standard deviation: with scale/sqrt(columns), a row of unit input makes outputs near scale. The
// scales are those of packtest's models.
func (v *Values) deviation(m mlx.Weights) float64 {
	streams := float64(v.config.Streams)
	scale := 1.0
	for _, x := range []struct {
		part  string // of the name
		scale float64
	}{
		{"embed_tokens", v.embedding() * math.Sqrt(float64(m.Cols))},
		{"lm_head", 4},
		{".input_mix_weight_down", streams}, // the sum is divided by the streams
		{".block_inject_weight", streams / 2},
		{".shared_expert_gate", 2},
		{".shared_expert.down_proj", 1},
		{".shared_expert.", 1.5},
		{".switch_mlp.", 1.5},
		{".mlp.gate", 3},
		{".in_proj_qkv", 3},
		{".in_proj_", 2},
		{".out_proj", 0.7},
		{".o_proj", 1},
		{".self_attn.", 2},
		{".ple.key_proj", 2},
		{"mtp.fc_embedding", 0.05 * v.embedding()},
		{"mtp.fc_hidden", 0.3},
	} {
		if strings.Contains(m.Name, x.part) {
			scale = x.scale
			break
		}
	}
	return scale / math.Sqrt(float64(m.Cols))
}

// Norm is offsets from one in steps of 1/128, so that 1+w is exact in bf16.
func (v *Values) Norm(name string, n int) ([]float32, bool, error) {
	return offsets(v.stream(name), n, 0), false, nil
}

func offsets(s stream, n int, add float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = add + float32(s.word(uint64(i))%41)/128 - 20.0/128
	}
	return out
}

// Vector is a delta net's decay, its bias, or its norm.
func (v *Values) Vector(name string, n int) ([]float32, pack.DType, error) {
	s, lo, hi := v.stream(name), -1.5, 1.0 // A_log
	switch {
	case strings.HasSuffix(name, ".norm"):
		return offsets(s, n, 1), pack.BF16, nil
	case strings.HasSuffix(name, ".dt_bias"):
		lo, hi = -3, 0
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = round(lo + (hi-lo)*s.unit(uint64(i)))
	}
	return out, pack.BF16, nil
}

// Conv is normal values.
func (v *Values) Conv(name string, channels, taps int) ([]float32, error) {
	out := make([]float32, channels*taps)
	newBell(0.3).fill(out, v.stream(name), 0)
	return out, nil
}

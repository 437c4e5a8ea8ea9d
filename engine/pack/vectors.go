package pack

import (
	"encoding/binary"
	"strings"
)

// Norm returns the effective weight [n] of a zero-centred norm, 1+w in f32, whatever the container stores (spec 5.2): HF
// stores w, MLX stores 1+w except for the two norms in front of the MTP head's projections.
func (p *Pack) Norm(name string, n int) ([]float32, error) {
	l := lookup{p: p}
	t, err := l.vector(name, n)
	if err != nil {
		return nil, named(p.Name, err)
	}
	w, err := t.floats()
	if err != nil {
		return nil, named(p.Name, err)
	}
	if p.Layout == HF || strings.HasPrefix(t.canon, "mtp.pre_fc_norm_") {
		for i := range w {
			w[i] += 1
		}
	}
	return w, nil
}

// Vector returns n values as they are stored, widened to f32: A_log, dt_bias, the GDN norm (which no container folds).
func (p *Pack) Vector(name string, n int) ([]float32, error) {
	l := lookup{p: p}
	t, err := l.vector(name, n)
	if err != nil {
		return nil, named(p.Name, err)
	}
	w, err := t.floats()
	return w, named(p.Name, err)
}

// DType is the element type that a tensor of the name is stored in, "" if there is none.
func (p *Pack) DType(name string) DType {
	l := lookup{p: p}
	t, err := l.find(name, name+".weight")
	if err != nil {
		return ""
	}
	return t.dtype
}

func (l *lookup) vector(name string, n int) (*tensor, error) {
	t, err := l.find(name, name+".weight")
	if err != nil {
		return nil, err
	}
	if !t.dtype.float() {
		return nil, unsupported("%s, want F32, F16 or BF16", t.describe())
	}
	return t, shaped(t, []int64{int64(n)})
}

// Conv returns a depthwise convolution as [taps][channels], the order of metal.Stream.Conv. HF stores [channels, 1, taps],
// MLX [channels, taps, 1], both row-major; [channels, taps] is taken too. PLE's may be called conv1d or conv_weight.
func (p *Pack) Conv(name string, channels, taps int) ([]float32, error) {
	l := lookup{p: p}
	t, err := l.conv(name, channels, taps)
	if err != nil {
		return nil, named(p.Name, err)
	}
	w, err := t.floats()
	if err != nil {
		return nil, named(p.Name, err)
	}
	out := make([]float32, len(w))
	for ch := range channels {
		for j := range taps {
			out[j*channels+ch] = w[ch*taps+j]
		}
	}
	return out, nil
}

func (l *lookup) conv(name string, channels, taps int) (*tensor, error) {
	name = strings.TrimSuffix(name, ".weight")
	base := strings.TrimSuffix(strings.TrimSuffix(name, "conv1d"), "conv_weight")
	t, err := l.find(base+"conv1d.weight", base+"conv_weight")
	if err != nil {
		return nil, err
	}
	if !t.dtype.float() {
		return nil, unsupported("%s, want F32, F16 or BF16", t.describe())
	}
	c, k := int64(channels), int64(taps)
	return t, shaped(t, []int64{c, 1, k}, []int64{c, k, 1}, []int64{c, k})
}

// Ints returns n integers (the hash buffers "layers.1.ple.ple_embedding.layer_multipliers" and its two neighbours); false
// says that the pack does not ship them.
func (p *Pack) Ints(name string, n int) ([]int64, bool, error) {
	l := lookup{p: p}
	out, ok, err := l.ints(name, n)
	return out, ok, named(p.Name, err)
}

func (l *lookup) ints(name string, n int) ([]int64, bool, error) {
	if !l.has(name) {
		return nil, false, nil
	}
	t, err := l.find(name)
	if err != nil {
		return nil, false, err
	}
	if err := shaped(t, []int64{int64(n)}); err != nil {
		return nil, false, err
	}
	out, raw := make([]int64, n), t.data()
	for i := range out {
		switch t.dtype {
		case I64:
			out[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		case I32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		default:
			return nil, false, unsupported("%s, want I64 or I32", t.describe())
		}
	}
	return out, true, nil
}

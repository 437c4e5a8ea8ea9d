package pack

import (
	"encoding/binary"
	"strings"

	"github.com/flashlane/flashlane/metal"
)

// Linear returns a weight [rows, cols] by its canonical name ("layers.3.self_attn.q_proj", "lm_head"): the bytes lie in
// the pack's mapping. With tied embeddings lm_head is embed_tokens.
func (p *Pack) Linear(name string, rows, cols int) (metal.WeightSpec, error) {
	l := lookup{p: p}
	spec, err := l.linear(name, rows, cols)
	return spec, named(p.Name, err)
}

func (l *lookup) linear(name string, rows, cols int) (metal.WeightSpec, error) {
	name = strings.TrimSuffix(name, ".weight")
	if name == "lm_head" {
		if l.p.Config.Tied {
			name = "embed_tokens"
		} else if !l.has("lm_head.weight") {
			return metal.WeightSpec{}, missing("tensor \"lm_head.weight\" is in no file of the pack, and config.json: tie_word_embeddings is not true")
		}
	}
	return l.module(name, 0, rows, cols)
}

// module resolves a weight [rows, cols], or [stack, rows, cols] if stack > 0: plain floats, or MLX codes with their
// scales and biases (spec 5.3).
func (l *lookup) module(name string, stack, rows, cols int) (metal.WeightSpec, error) {
	t, err := l.find(name+".weight", name)
	if err != nil {
		return metal.WeightSpec{}, err
	}
	if t.dtype == U32 {
		return l.quantised(t, name, stack, rows, cols)
	}
	spec := metal.WeightSpec{Name: t.name, Rows: rows, Cols: cols}
	if spec.Format, err = t.format(); err != nil {
		return spec, err
	}
	if err := shaped(t, stacked(stack, rows, cols)); err != nil {
		return spec, err
	}
	spec.Parts = split(stack, t.data(), nil, nil)
	return spec, nil
}

// stacked is the shape [rows, cols] or [stack, rows, cols].
func stacked(stack, rows, cols int) []int64 {
	if stack == 0 {
		return []int64{int64(rows), int64(cols)}
	}
	return []int64{int64(stack), int64(rows), int64(cols)}
}

// split cuts planes into the parts of a stack.
func split(stack int, data, scales, biases []byte) []metal.Part {
	n := max(stack, 1)
	cut := func(b []byte, i int) []byte {
		if b == nil {
			return nil
		}
		size := len(b) / n
		return b[i*size : (i+1)*size : (i+1)*size]
	}
	parts := make([]metal.Part, n)
	for i := range parts {
		parts[i] = metal.Part{Data: cut(data, i), Scales: cut(scales, i), Biases: cut(biases, i)}
	}
	return parts
}

// quantised resolves an affine module: bits and group follow from the shapes and must agree with config.json.
func (l *lookup) quantised(t *tensor, name string, stack, rows, cols int) (metal.WeightSpec, error) {
	spec := metal.WeightSpec{Name: t.name, Rows: rows, Cols: cols}
	scales, err := l.find(name + ".scales")
	if err != nil {
		return spec, err
	}
	biases, err := l.find(name + ".biases")
	if err != nil {
		return spec, err
	}
	axes := len(stacked(stack, rows, cols))
	if len(t.shape) != axes {
		return spec, corrupt("%s, want %d axes", t.describe(), axes)
	}
	if len(scales.shape) != axes {
		return spec, corrupt("%s, want %d axes", scales.describe(), axes)
	}
	format, bits, group, err := affine(t, scales, cols)
	if err != nil {
		return spec, err
	}
	if err := shaped(t, stacked(stack, rows, cols*bits/32)); err != nil {
		return spec, err
	}
	for _, s := range []*tensor{scales, biases} {
		if err := shaped(s, stacked(stack, rows, cols/group)); err != nil {
			return spec, err
		}
	}
	if err := l.p.hints.quant.check(name, bits, group, strings.HasPrefix(name, "mtp.")); err != nil {
		return spec, err
	}
	spec.Format, spec.Group = format, group
	sc, err := l.bf16(scales)
	if err != nil {
		return spec, err
	}
	bi, err := l.bf16(biases)
	if err != nil {
		return spec, err
	}
	spec.Parts = split(stack, t.data(), sc, bi)
	return spec, nil
}

// affine infers bits and group from the last axes: packed = cols*bits/32 words, cols/group scales (spec 5.3).
func affine(codes, scales *tensor, cols int) (format metal.Format, bits, group int, err error) {
	packed, groups := codes.shape[len(codes.shape)-1], scales.shape[len(scales.shape)-1]
	switch {
	case packed*32 == int64(cols)*4:
		format, bits = metal.FormatQ4, 4
	case packed*32 == int64(cols)*8:
		format, bits = metal.FormatQ8, 8
	case packed > 0 && packed < int64(cols)/4 && packed*32%int64(cols) == 0:
		return 0, 0, 0, unsupported("%s: %d bits for %d columns, want 4 or 8", codes.describe(), packed*32/int64(cols), cols)
	default:
		return 0, 0, 0, corrupt("%s, want %d words (8 bits) or %d (4 bits) for %d columns", codes.describe(), cols/4, cols/8, cols)
	}
	if groups <= 0 || int64(cols)%groups != 0 {
		return 0, 0, 0, corrupt("%s, want a divisor of %d columns on the last axis", scales.describe(), cols)
	}
	group = cols / int(groups)
	if group%8 != 0 {
		return 0, 0, 0, unsupported("%s: groups of %d columns, want a multiple of 8", scales.describe(), group)
	}
	return format, bits, group, nil
}

// bf16 is a scale or bias plane as bf16: in place, or rounded from F16 or F32 (a loss of at most 2^-9 of a scale, which is
// below half a step of an 8-bit code).
func (l *lookup) bf16(t *tensor) ([]byte, error) {
	if t.dtype == BF16 {
		return t.data(), nil
	}
	if !t.dtype.float() {
		return nil, unsupported("%s, want BF16, F16 or F32", t.describe())
	}
	if l.dry {
		return nil, nil
	}
	wide := make([]float32, t.elements())
	Decode(wide, t.data(), t.dtype)
	out := make([]byte, 2*len(wide))
	for i, v := range wide {
		binary.LittleEndian.PutUint16(out[2*i:], RoundBF16(v))
	}
	return out, nil
}

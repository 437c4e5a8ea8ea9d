package mlx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/quantise"
	"github.com/flashlane/flashlane/engine/pack/write"
	"github.com/flashlane/flashlane/ple"
)

// small takes a tensor in whose bytes are at hand.
func (p *Plan) small(canon, suffix string, d pack.DType, data []byte, shape ...int64) {
	name, file := fileName(canon)
	p.entries = append(p.entries, entry{name: name, file: file, tensors: []write.Tensor{{Name: name + suffix, DType: d, Shape: shape}}, data: data})
}

// norm folds 1+w, but for the two norms in front of the head's projections, which the layout stores raw (spec 5.2).
func (p *Plan) norm(x pack.Piece, v Values) error {
	w, folded, err := v.Norm(x.Name, x.Rows)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(x.Name, "mtp.pre_fc_norm_") && !folded {
		for i := range w {
			w[i] += 1
		}
	}
	data, err := floats(x.Name, w, pack.BF16)
	if err != nil {
		return err
	}
	p.small(x.Name, ".weight", pack.BF16, data, int64(x.Rows))
	return nil
}

// vector writes bf16, but A_log in the type it comes in: the layout's writers leave it out of their cast (spec 5.3).
func (p *Plan) vector(x pack.Piece, v Values) error {
	w, d, err := v.Vector(x.Name, x.Rows)
	if err != nil {
		return err
	}
	suffix := ".weight"
	if strings.HasSuffix(x.Name, ".A_log") || strings.HasSuffix(x.Name, ".dt_bias") {
		suffix = ""
	}
	if !strings.HasSuffix(x.Name, ".A_log") || d != pack.F32 {
		d = pack.BF16
	}
	data, err := floats(x.Name, w, d)
	if err != nil {
		return err
	}
	p.small(x.Name, suffix, d, data, int64(x.Rows))
	return nil
}

// conv writes [channels, taps, 1]; PLE's is called conv_weight.
func (p *Plan) conv(x pack.Piece, v Values) error {
	w, err := v.Conv(x.Name, x.Rows, x.Cols)
	if err != nil {
		return err
	}
	data, err := floats(x.Name, w, pack.BF16)
	if err != nil {
		return err
	}
	name, suffix := x.Name, ".weight"
	if base, ok := strings.CutSuffix(name, ".ple.conv1d"); ok {
		name, suffix = base+".ple.conv_weight", ""
	}
	p.small(name, suffix, pack.BF16, data, int64(x.Rows), int64(x.Cols), 1)
	return nil
}

// ints writes the hash constants that the config asks for.
func (p *Plan) ints(x pack.Piece) error {
	c, err := ple.Derive(p.config.NgramGeometry(), x.Index)
	if err != nil {
		return err
	}
	var list []int64
	switch {
	case strings.HasSuffix(x.Name, ".layer_multipliers"):
		for _, m := range c.Multipliers {
			list = append(list, int64(m))
		}
	case strings.HasSuffix(x.Name, ".ngram_heads_vocab_sizes"):
		list = c.Sizes
	default:
		list = c.Offsets
	}
	var data []byte
	for _, n := range list {
		data = binary.LittleEndian.AppendUint64(data, uint64(n))
	}
	p.small(x.Name, "", pack.I64, data, int64(len(list)))
	return nil
}

// floats encodes a small tensor and refuses what is not finite.
func floats(name string, w []float32, d pack.DType) ([]byte, error) {
	if d == pack.F32 {
		out := make([]byte, 0, 4*len(w))
		for i, x := range w {
			if x-x != 0 {
				return nil, fmt.Errorf("tensor %q: %w: got %v at element %d", name, quantise.ErrValue, x, i)
			}
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		return out, nil
	}
	out := make([]byte, 2*len(w))
	if err := (quantise.Format{}).Encode(out, nil, nil, w); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	return out, nil
}

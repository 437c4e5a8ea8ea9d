package packtest

import (
	"fmt"
	"math"

	"github.com/flashlane/flashlane/engine/pack"
)

// experts adds a layer's routed experts in the form the options ask for. Each expert's values depend on its own name.
func (b *builder) experts(mlp string) {
	g := &b.g
	e, i, h := g.Experts, g.ExpertInner, g.Hidden
	one := func(x int, what string, rows, cols int, scale float64) []float32 {
		return normals(random(b.seed, fmt.Sprintf("%s.experts.%d.%s", mlp, x, what)), rows*cols, scale/math.Sqrt(float64(cols)))
	}
	var gate, up, down [][]float32
	for x := range e {
		gate = append(gate, one(x, "gate_proj", i, h, 1.5))
		up = append(up, one(x, "up_proj", i, h, 1.5))
		down = append(down, one(x, "down_proj", h, i, 1.5))
	}
	switch {
	case b.o.Layout == pack.MLX:
		b.linear(mlp+".switch_mlp.gate_proj", flat(gate), e, i, h)
		b.linear(mlp+".switch_mlp.up_proj", flat(up), e, i, h)
		b.linear(mlp+".switch_mlp.down_proj", flat(down), e, h, i)
	case b.o.PerExpert:
		for x := range e {
			p := fmt.Sprintf("%s.experts.%d.", mlp, x)
			b.linear(p+"gate_proj", gate[x], 0, i, h)
			b.linear(p+"up_proj", up[x], 0, i, h)
			b.linear(p+"down_proj", down[x], 0, h, i)
		}
	default:
		var both, dn []float32
		for x := range e {
			pair := append(append([]float32{}, gate[x]...), up[x]...)
			if b.o.Transposed {
				both = append(both, transposed(pair, 2*i, h)...)
				dn = append(dn, transposed(down[x], h, i)...)
			} else {
				both, dn = append(both, pair...), append(dn, down[x]...)
			}
		}
		bothShape, downShape := []int{e, 2 * i, h}, []int{e, h, i}
		if b.o.Transposed {
			bothShape, downShape = []int{e, h, 2 * i}, []int{e, i, h}
		}
		b.put(mlp+".experts.gate_up_proj", b.o.DType, encode(both, b.o.DType), bothShape...)
		b.put(mlp+".experts.down_proj", b.o.DType, encode(dn, b.o.DType), downShape...)
	}
}

func flat(parts [][]float32) []float32 {
	var out []float32
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// transposed is src [rows, cols] as [cols, rows].
func transposed(src []float32, rows, cols int) []float32 {
	out := make([]float32, len(src))
	for r := range rows {
		for c := range cols {
			out[c*rows+r] = src[r*cols+c]
		}
	}
	return out
}

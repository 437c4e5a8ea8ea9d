package pack_test

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/pack"
)

func ExampleOpen() {
	src, err := pack.Dir("../../nano/pack")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pack.Open(src)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	c := p.Config
	fmt.Println(p.Layout, c.Layers, "layers, hidden", c.Hidden)

	w, err := p.Linear("layers.3.self_attn.k_proj", c.KVDim(), c.Hidden)
	fmt.Println(w.Format, w.Rows, w.Cols, w.Group, err)

	_, err = p.Linear("layers.3.self_attn.k_proj", 100, c.Hidden)
	fmt.Println(err)
	// Output:
	// mlx 12 layers, hidden 256
	// q8 128 256 64 <nil>
	// pack pack: model.safetensors: tensor "language_model.model.layers.3.self_attn.k_proj.weight": got shape [128 64] U32, want [100 64]
}

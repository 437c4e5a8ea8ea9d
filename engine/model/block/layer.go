package block

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// Layer is one decoder layer (spec 2.3): a mixing block, either Delta or Attention, then the experts, each behind its
// gated residual, and before both the PLE plane on the layers that have one.
type Layer struct {
	Index     int    // in the trunk
	Ordinal   int    // among the trunk's layers of its kind: of its caches in a sequence
	Plane     *Plane // nil on most layers
	MixBlock  *metal.Mixer
	Delta     *Delta     // one of the two
	Attention *Attention // is nil
	MixMLP    *metal.Mixer
	MoE       *MoE
}

// LoadAttentionLayer loads the attention layer below prefix, "layers.3" or "mtp.layers.0".
func LoadAttentionLayer(l *Loader, cfg *pack.Config, prefix string, index int, freq *qsa.InvFreq) *Layer {
	x := loadShell(l, cfg, prefix, index)
	x.Attention = LoadAttention(l, cfg, prefix+".self_attn", index, freq)
	return x
}

// LoadDeltaLayer loads the gated-delta-net layer below prefix.
func LoadDeltaLayer(l *Loader, cfg *pack.Config, prefix string, index int) *Layer {
	x := loadShell(l, cfg, prefix, index)
	x.Delta = LoadDelta(l, cfg, prefix+".linear_attn")
	return x
}

func loadShell(l *Loader, cfg *pack.Config, prefix string, index int) *Layer {
	return &Layer{
		Index:    index,
		MixBlock: LoadMixer(l, cfg, prefix+".attn_hyper_connection", true),
		MixMLP:   LoadMixer(l, cfg, prefix+".mlp_hyper_connection", true),
		MoE:      LoadMoE(l, cfg, prefix+".mlp"),
	}
}

// MLP runs the layer's second half over x [R, W]: mix, experts, inject. see, if not nil, is shown the experts' answer.
// A nil st only measures a.
func (l *Layer) MLP(st metal.Stream, a *Arena, x metal.Mat, see func(y metal.Mat)) {
	defer a.Release(a.Mark())
	u, c, y := TakeBlock(a, x, l.MixMLP.Streams)
	Mix(st, a, u, c, x, l.MixMLP)
	l.MoE.Run(st, a, x, c, y, u)
	if st != nil && see != nil {
		see(y)
	}
}

// TakeBlock makes room for a block's input u [R, H], injection weights c [R, S] and answer y [R, H] for streams x [R, W].
func TakeBlock(a *Arena, x metal.Mat, streams int) (u, c, y metal.Mat) {
	h := x.Cols / streams
	return a.Floats(x.Rows, h), a.Floats(x.Rows, streams), a.Floats(x.Rows, h)
}

// Name is how logs and errors call the layer.
func (l *Layer) Name() string { return fmt.Sprintf("layer %d", l.Index) }

package state

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// Shape is the geometry of a model's sequences. It is made once when the model loads and shared by all sequences.
type Shape struct {
	Positions int // the context: no cache ever holds more positions

	Recurrent []RecurrentShape // one per gated-delta-net layer, in trunk order
	Attention []AttentionShape // one per trunk attention layer, in trunk order
	Planes    []TailShape      // one per PLE layer, in trunk order: its convolution tail
}

// RecurrentShape is what a gated-delta-net layer keeps: S [ValueHeads, KeyDim, ValueDim] and the last pre-convolution
// rows (spec 2.4).
type RecurrentShape struct {
	Layer int // trunk layer index
	Delta metal.DeltaShape
	Tail  TailShape
}

// TailShape is the history of a causal convolution: Rows = (taps-1)*dilation rows of Cols values, oldest first.
type TailShape struct {
	Layer int // trunk layer index
	Rows  int
	Cols  int
}

// AttentionShape is what an attention layer keeps per position: K and V of Width values each, one raw index key, and
// one pooled key per complete block (spec 2.5).
type AttentionShape struct {
	Layer int // trunk layer index; 0 for the MTP layer
	Width int // KVHeads * head dim
	Index qsa.Geometry
}

// Bytes is what a sequence with room for so many positions holds on the device, without the MTP caches. It is what
// admission compares with free memory before work starts.
func (s *Shape) Bytes(positions int) int64 {
	n := int64(0)
	for _, r := range s.Recurrent {
		n += 2 * 4 * int64(r.Delta.ValueHeads*r.Delta.KeyDim*r.Delta.ValueDim+r.Tail.Rows*r.Tail.Cols)
	}
	for _, t := range s.Planes {
		n += 2 * 4 * int64(t.Rows*t.Cols)
	}
	for _, a := range s.Attention {
		n += a.Bytes(positions)
	}
	return n
}

// Bytes is what one attention layer holds for so many positions; the bank's scratch rows come on top.
func (a AttentionShape) Bytes(positions int) int64 {
	return 4 * (int64(positions)*int64(2*a.Width+a.Index.Dim) + int64(a.Index.Complete(positions)*a.Index.Dim))
}

func (s *Shape) check() error {
	if s.Positions < 1 {
		return fmt.Errorf("state: context: got %d positions, want at least 1", s.Positions)
	}
	return nil
}

package qsa

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Indexer is the pool metadata of one attention layer, bound once when the model loads and immutable since: no round
// looks anything up. It holds no weight of its own, only a view of the layer's key norm.
type Indexer struct {
	Layer int       // trunk layer, from 0
	Norm  metal.Vec // k_layernorm [Dim], 1+w
	Freq  *InvFreq  // the model's one table
	Geometry
}

// Bind checks the parts of an indexer against each other. Errors wrap ErrGeometry and name the layer.
func Bind(layer int, g Geometry, norm metal.Vec, freq *InvFreq) (*Indexer, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("layer %d: %w", layer, err)
	}
	switch {
	case layer < 0:
		return nil, fmt.Errorf("%w: layer: got %d, want 0 or more", ErrGeometry, layer)
	case !norm.Valid() || norm.Buf.DType() != metal.F32:
		return nil, fmt.Errorf("%w: layer %d: k_layernorm: got none, want f32 device memory", ErrGeometry, layer)
	case norm.N != g.Dim:
		return nil, fmt.Errorf("%w: layer %d: k_layernorm: got %d values, want indexer_head_dim %d", ErrGeometry, layer, norm.N, g.Dim)
	case freq == nil:
		return nil, fmt.Errorf("%w: layer %d: inverse frequencies: got none", ErrGeometry, layer)
	case freq.Rotary() > g.Dim:
		return nil, fmt.Errorf("%w: layer %d: rotary width: got %d, want indexer_head_dim %d or less", ErrGeometry, layer, freq.Rotary(), g.Dim)
	}
	return &Indexer{Layer: layer, Norm: norm, Freq: freq, Geometry: g}, nil
}

// SameFreq checks that all indexers share one InvFreq: the same object, not an equal one, so that no two layers can ever
// drift apart.
func SameFreq(indexers []*Indexer) error {
	for _, ix := range indexers {
		if ix.Freq != indexers[0].Freq {
			return fmt.Errorf("%w: layer %d: inverse frequencies: got an object of its own, want the one of layer %d", ErrGeometry, ix.Layer, indexers[0].Layer)
		}
	}
	return nil
}

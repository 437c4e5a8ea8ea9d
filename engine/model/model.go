package model

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// Model is the trunk on a device. It is immutable and safe for concurrent use.
type Model struct {
	Name   string
	Config pack.Config
	Device metal.Device

	Embed  metal.Weight // [V, H]
	Head   metal.Weight // [V, H]; the same weight as Embed in a tied pack
	Layers []*block.Layer
	Final  *metal.Mixer // spec 2.3: the mixer before the head, without inject

	PLE      []*ple.Layer   // per PLE layer, in trunk order; a layer's plane is Layers[At].Plane
	Indexers []*qsa.Indexer // per trunk attention layer, in trunk order
	Freq     *qsa.InvFreq   // the one rope table of all attention layers and indexers
	Shape    *state.Shape   // what a sequence holds
	Shelf    *state.Shelf   // rows kept for the drafter

	loader *block.Loader
}

// NewSequence returns an empty sequence without MTP caches (mtp.Head.Attach gives it some). The error wraps
// metal.ErrMemory when the device is full.
func (m *Model) NewSequence() (*state.Sequence, error) {
	return state.New(m.Shape, m.Device, state.Options{})
}

// NewSequenceFor is NewSequence with room for so many positions at once.
func (m *Model) NewSequenceFor(positions int) (*state.Sequence, error) {
	return state.New(m.Shape, m.Device, state.Options{Positions: positions})
}

// Context is the most positions a sequence may have.
func (m *Model) Context() int { return m.Shape.Positions }

// Close frees all weights. No pass may be running.
func (m *Model) Close() {
	m.Shelf.Close()
	m.loader.Free()
}

// checkTokens names the first id outside the embedding.
func (m *Model) checkTokens(ids []int32) error {
	for i, id := range ids {
		if id < 0 || int(id) >= m.Config.Vocab {
			return fmt.Errorf("token %d: got id %d, want 0 to %d", i, id, m.Config.Vocab-1)
		}
	}
	return nil
}

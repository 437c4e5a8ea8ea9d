package model

import (
	"fmt"
	"io"
	"slices"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// DefaultPLECache is the byte limit of the n-gram row cache of a model, all PLE layers together.
const DefaultPLECache = 1 << 30

// Options of Load. The zero value serves a pack as it says.
type Options struct {
	Context  int   // most positions of a sequence; 0: the pack's max_position_embeddings
	PLECache int64 // byte limit of the n-gram row cache; 0: DefaultPLECache, negative: no rows are held

	Placement ple.Placement                 // where n-gram rows are read from
	TableFile func(io.ReaderAt) io.ReaderAt // if set, stands before the files of n-gram tables: for measurement and tests
}

// Load brings the trunk of p to dev. Errors name layer and tensor; nothing stays allocated after one. The pack must stay
// open as long as the model is used: n-gram tables, and weights a device reads in place, are its mapped files.
func Load(p *pack.Pack, dev metal.Device, o Options) (*Model, error) {
	cfg := p.Config
	if o.Context < 0 || o.Context > cfg.MaxPositions {
		return nil, fmt.Errorf("model: context: got %d positions, want 1 to %d (max_position_embeddings of %s)", o.Context, cfg.MaxPositions, p.Name)
	}
	if o.Context == 0 {
		o.Context = cfg.MaxPositions
	}
	l := block.NewLoader(p, dev)
	m := &Model{
		Name: p.Name, Config: cfg, Device: dev, loader: l,
		Shape: &state.Shape{Positions: o.Context},
		Shelf: state.NewShelf(dev, cfg.Width()),
	}
	m.load(l, o)
	if err := l.Err(); err != nil {
		l.Free()
		return nil, fmt.Errorf("model: load %s: %w", p.Name, err)
	}
	return m, nil
}

func (m *Model) load(l *block.Loader, o Options) {
	cfg := &m.Config
	m.Embed = l.Linear("embed_tokens", cfg.Vocab, cfg.Hidden)
	m.Head = m.Embed
	if !cfg.Tied {
		m.Head = l.Linear("lm_head", cfg.Vocab, cfg.Hidden)
	}
	freq, err := block.NewFreq(cfg.Rope, cfg.HeadDim)
	if err != nil {
		l.Fail(err)
		return
	}
	m.Freq = freq
	for i, kind := range cfg.Kinds {
		m.loadLayer(l, i, kind, o)
		if l.Err() != nil {
			return
		}
	}
	m.Final = block.LoadMixer(l, cfg, "hyper_connection_mixer", false)
	if err := qsa.SameFreq(m.Indexers); err != nil {
		l.Fail(err)
	}
}

func (m *Model) loadLayer(l *block.Loader, i int, kind pack.LayerKind, o Options) {
	cfg, prefix := &m.Config, fmt.Sprintf("layers.%d", i)
	var x *block.Layer
	switch kind {
	case pack.KindGDN:
		x = block.LoadDeltaLayer(l, cfg, prefix, i)
	case pack.KindQSA:
		x = block.LoadAttentionLayer(l, cfg, prefix, i, m.Freq)
	default:
		l.Fail(fmt.Errorf("layer %d: unknown kind %d", i, kind))
	}
	k := slices.Index(cfg.PLELayers, i)
	if k >= 0 && l.Err() == nil {
		x.Plane = block.LoadPlane(l, cfg, prefix+".ple", k)
		m.loadPLE(l, i, k, o)
	}
	if l.Err() != nil {
		return
	}
	m.Layers = append(m.Layers, x)
	if x.Delta != nil {
		x.Ordinal = len(m.Shape.Recurrent)
		m.Shape.Recurrent = append(m.Shape.Recurrent, x.Delta.CacheShape(i))
	} else {
		x.Ordinal = len(m.Shape.Attention)
		m.Shape.Attention = append(m.Shape.Attention, x.Attention.CacheShape())
		m.Indexers = append(m.Indexers, x.Attention.Indexer)
	}
	if x.Plane != nil {
		m.Shape.Planes = append(m.Shape.Planes, x.Plane.TailShape(i))
	}
}

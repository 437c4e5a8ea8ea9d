package mtp

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// ErrNoHead is returned for a pack without an MTP head, or with one that does not fit; the reason is in the text. Such a
// pack is served at depth 0.
var ErrNoHead = errors.New("mtp: no head")

// Head is the MTP head on a device. It is immutable and safe for concurrent use.
type Head struct {
	m *model.Model

	normEmbed  metal.Vec    // pre_fc_norm_embedding [H]
	normHidden metal.Vec    // pre_fc_norm_hidden [W], one group over all of W
	fcEmbed    metal.Weight // [H, H]
	fcHidden   metal.Weight // [H, H], the same for every stream
	layer      *block.Layer
	mixer      *metal.Mixer
	freq       *qsa.InvFreq

	loader *block.Loader
}

// Load brings the head of p to the device of m, the trunk of the same pack. It returns an error wrapping ErrNoHead, with
// the reason, if the pack has no head that fits; other errors name the tensor.
func Load(p *pack.Pack, m *model.Model) (*Head, error) {
	if ok, reason := p.HasMTP(); !ok {
		return nil, fmt.Errorf("%w: %s: %s", ErrNoHead, p.Name, reason)
	}
	cfg := &m.Config
	l := block.NewLoader(p, m.Device)
	h := &Head{m: m, loader: l, freq: m.Freq}
	if cfg.MTPRope != cfg.Rope {
		freq, err := block.NewFreq(cfg.MTPRope, cfg.HeadDim)
		if err != nil {
			return nil, fmt.Errorf("mtp: load %s: %w", p.Name, err)
		}
		h.freq = freq
	}
	h.normEmbed = l.Norm("mtp.pre_fc_norm_embedding", cfg.Hidden)
	h.normHidden = l.Norm("mtp.pre_fc_norm_hidden", cfg.Width())
	h.fcEmbed = l.Linear("mtp.fc_embedding", cfg.Hidden, cfg.Hidden)
	h.fcHidden = l.Linear("mtp.fc_hidden", cfg.Hidden, cfg.Hidden)
	h.layer = block.LoadAttentionLayer(l, cfg, "mtp.layers.0", 0, h.freq)
	h.mixer = block.LoadMixer(l, cfg, "mtp.hyper_connection_mixer", false)
	if err := l.Err(); err != nil {
		l.Free()
		return nil, fmt.Errorf("mtp: load %s: %w", p.Name, err)
	}
	return h, nil
}

// Attach gives a sequence the caches it needs to draft. The error wraps metal.ErrMemory when the device is full.
func (h *Head) Attach(seq *state.Sequence) error {
	c, err := state.NewMTPCaches(h.m.Device, h.layer.Attention.CacheShape(), h.m.Context())
	if err != nil {
		return fmt.Errorf("mtp: caches: %w", err)
	}
	seq.MTP = c
	return nil
}

// CacheShape is the geometry of the head's own caches.
func (h *Head) CacheShape() state.AttentionShape { return h.layer.Attention.CacheShape() }

// Peak is the most the MTP caches of a sequence hold while they grow to so many positions, for admission.
func (h *Head) Peak(positions int) int64 {
	return h.CacheShape().Peak(positions, h.m.Context())
}

// Close frees the weights. No pass may be running.
func (h *Head) Close() { h.loader.Free() }

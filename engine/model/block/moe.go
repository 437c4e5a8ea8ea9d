package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// MoE is the routed experts and the shared expert of a layer (spec 2.6).
type MoE struct {
	metal.MoE
}

// LoadMoE loads the experts below prefix, for instance "layers.3.mlp".
func LoadMoE(l *Loader, cfg *pack.Config, prefix string) *MoE {
	h, j := cfg.Hidden, cfg.SharedInner
	m := &MoE{metal.MoE{TopK: cfg.TopK, Renorm: cfg.RenormTopK}}
	m.Router = l.Linear(prefix+".gate", cfg.Experts, h)
	m.Gate, m.Up, m.Down = l.Experts(prefix)
	m.SharedGate = l.Linear(prefix+".shared_expert.gate_proj", j, h)
	m.SharedUp = l.Linear(prefix+".shared_expert.up_proj", j, h)
	m.SharedDown = l.Linear(prefix+".shared_expert.down_proj", h, j)
	m.SharedExpertGate = l.Linear(prefix+".shared_expert_gate", 1, h)
	return m
}

// Run sets y [R, H] to the experts' answer to u [R, H] and adds it to the streams x [R, W] by the weights c [R, S]. A nil st
// only measures a.
func (m *MoE) Run(st metal.Stream, a *Arena, x, c, y, u metal.Mat) {
	defer a.Release(a.Mark())
	r := u.Rows
	s := metal.MoEScratch{
		Logits: a.Floats(r, m.Router.Rows()), IDs: a.Ints(r, m.TopK), Weights: a.Floats(r, m.TopK),
		SharedGate: a.Floats(r, m.SharedGate.Rows()), SharedUp: a.Floats(r, m.SharedUp.Rows()),
		Shared: a.Floats(r, u.Cols), Share: a.Floats(r, 1),
	}
	if st != nil {
		metal.RunMoE(st, x, c, y, u, &m.MoE, s)
	}
}

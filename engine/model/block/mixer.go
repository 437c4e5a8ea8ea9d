package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// LoadMixer loads the gated residual below prefix (spec 2.2); the two final mixers have no inject weights.
func LoadMixer(l *Loader, cfg *pack.Config, prefix string, inject bool) *metal.Mixer {
	w := cfg.Streams * cfg.Hidden
	m := &metal.Mixer{
		Norm:    l.Norm(prefix+".hc_norm", w),
		Down:    l.Linear(prefix+".input_mix_weight_down", cfg.LowRank, w),
		Up:      l.Linear(prefix+".input_mix_weight_up", w, cfg.LowRank),
		Streams: cfg.Streams,
		Eps:     cfg.Eps,
	}
	if inject {
		m.Inject = l.Linear(prefix+".block_inject_weight", cfg.Streams, w)
	}
	return m
}

// Mix turns streams x [R, W] into a block's input u [R, H] and injection weights c [R, S], with scratch from a.
func Mix(st metal.Stream, a *Arena, u, c, x metal.Mat, m *metal.Mixer) {
	defer a.Release(a.Mark())
	s := metal.MixScratch{
		Normed: a.Floats(x.Rows, x.Cols),
		Gate:   a.Floats(x.Rows, x.Cols),
		Low:    a.Floats(x.Rows, lowRank(m)),
	}
	if st == nil {
		return
	}
	metal.Mix(st, u, c, x, m, s)
}

func lowRank(m *metal.Mixer) int { return m.Down.Rows() }

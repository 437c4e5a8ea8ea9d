package block

import (
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/qsa"
)

// NewFreq is the rope table of heads of headDim dimensions: a model has one, shared by attention and indexers.
func NewFreq(r pack.Rope, headDim int) (*qsa.InvFreq, error) {
	var yarn *qsa.Yarn
	if r.Type == "yarn" {
		yarn = &qsa.Yarn{
			Factor: r.Factor, OriginalMax: r.OriginalMax, BetaFast: r.BetaFast, BetaSlow: r.BetaSlow,
			AttentionFactor: r.AttentionFactor, MScale: r.MScale, MScaleAllDim: r.MScaleAllDim, NoTruncate: !r.Truncate,
		}
	}
	return qsa.NewInvFreq(r.RotaryDim(headDim), r.Theta, yarn)
}

package qsa

import (
	"errors"
	"fmt"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// Lane is the name of the lane whose install check this is.
const Lane = "qsa_pooled_rowsel"

// BankMode is how committed blocks come into a bank: by selecting rows, never by copying whole banks or weights.
const BankMode = "rowsel"

// ErrInstall marks a mismatch that fails the load (design section 5); what, got and want are in the text.
var ErrInstall = errors.New("qsa: lane " + Lane + " does not fit")

// Model is what the config and the loaded weights say, for Check to hold the indexers against.
type Model struct {
	Layers    []int       // trunk attention layers in order, from 0
	Geometry  Geometry    // of every indexer
	Freq      *InvFreq    // the table the attention layers rotate with
	RopeScale float32     // factor on cos and sin that the config asks for: 1 but for YaRN
	Norms     []metal.Vec // k_layernorm as loaded, one per layer: the indexers must view these, not copies
}

// Verdict is the outcome of an install check that does not fail the load.
type Verdict struct {
	Installed bool
	Reason    string // why the lane declines; "" when installed
	Report    Report // zero when it declines
}

// Report is what an installed lane tells in its verdict line and in /health.
type Report struct {
	Layers         []int   `json:"qsa_layer_positions"`
	SharedFreq     bool    `json:"shared_inv_freq_identity"`
	FreqObjects    int     `json:"shared_inv_freq_object_count"`
	Bindings       int     `json:"bindings"`
	BankMode       string  `json:"bank_mode"`
	WeightsCopied  bool    `json:"weights_copied"`
	Ratio          int     `json:"ratio"`
	Dim            int     `json:"dim"`
	Heads          int     `json:"heads"`
	Top            int     `json:"top_blocks"`
	Eps            float32 `json:"norm_epsilon"`
	RopeScale      float32 `json:"rope_scale"`
	RotaryDim      int     `json:"rotary_dim"`
	DensePositions int     `json:"dense_positions"` // most positions a query may see before it has to choose
}

// String is the verdict in the words of the log line.
func (v Verdict) String() string {
	if !v.Installed {
		return "declined to stock: " + v.Reason
	}
	r := v.Report
	return fmt.Sprintf("installed: bank_mode=%s indexers=%d shared_inv_freq_objects=%d ratio=%d dim=%d top=%d rope_scale=%v",
		r.BankMode, r.Bindings, r.FreqObjects, r.Ratio, r.Dim, r.Top, r.RopeScale)
}

// Check is the lane's install check (design section 5): positions of the attention layers, geometry and norm epsilon of
// every indexer, rope scale, one shared inverse-frequency object (by identity), bank mode, and no weight copies. A model
// without attention layers declines; any other mismatch is an error that wraps ErrInstall and fails the load.
func Check(m Model, indexers []*Indexer) (Verdict, error) {
	if len(m.Layers) == 0 && len(indexers) == 0 {
		return Verdict{Reason: "the model has no sparse attention layers"}, nil
	}
	bad := func(what string, got, want any) (Verdict, error) {
		return Verdict{}, fmt.Errorf("%w: %s: got %v, want %v", ErrInstall, what, got, want)
	}
	if err := m.Geometry.Validate(); err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrInstall, err)
	}
	layers := make([]int, len(indexers))
	for i, ix := range indexers {
		if ix == nil {
			return bad(fmt.Sprintf("indexer %d", i), "none", "one")
		}
		layers[i] = ix.Layer
	}
	if !slices.Equal(layers, m.Layers) {
		return bad("layer positions", layers, m.Layers)
	}
	if len(m.Norms) != len(m.Layers) {
		return bad("key norms", len(m.Norms), len(m.Layers))
	}
	for i, ix := range indexers {
		at := fmt.Sprintf("layer %d: ", ix.Layer)
		if ix.Eps != m.Geometry.Eps {
			return bad(at+"norm epsilon", ix.Eps, m.Geometry.Eps)
		}
		if ix.Geometry != m.Geometry {
			return bad(at+"geometry", fmt.Sprintf("%+v", ix.Geometry), fmt.Sprintf("%+v", m.Geometry))
		}
		if ix.Norm != m.Norms[i] {
			return bad(at+"key norm", "memory of its own", "a view of the loaded weight")
		}
		if ix.Norm.N != ix.Dim {
			return bad(at+"key norm width", ix.Norm.N, ix.Dim)
		}
	}
	if err := SameFreq(indexers); err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrInstall, err)
	}
	f := indexers[0].Freq
	switch {
	case f == nil:
		return bad("inverse frequencies", "none", "one shared object")
	case f != m.Freq:
		return bad("inverse frequencies", "an object of the indexers' own", "the one of the attention layers")
	case f.Scale() != m.RopeScale:
		return bad("rope scale", f.Scale(), m.RopeScale)
	case f.Rotary() > m.Geometry.Dim:
		return bad("rotary width", f.Rotary(), fmt.Sprintf("%d or less", m.Geometry.Dim))
	}
	g := m.Geometry
	return Verdict{Installed: true, Report: Report{
		Layers: layers, SharedFreq: true, FreqObjects: 1, Bindings: len(indexers), BankMode: BankMode, WeightsCopied: false,
		Ratio: g.Ratio, Dim: g.Dim, Heads: g.Heads, Top: g.Top(), Eps: g.Eps, RopeScale: f.Scale(), RotaryDim: f.Rotary(),
		DensePositions: (g.Top()+1)*g.Ratio - 1,
	}}, nil
}

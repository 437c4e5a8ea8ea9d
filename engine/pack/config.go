package pack

import "math"

// LayerKind is what mixes tokens in a layer.
type LayerKind uint8

// The two kinds of layers of the family (spec 2.4, 2.5).
const (
	KindGDN LayerKind = iota // gated delta net
	KindQSA                  // gated attention with the sparse indexer
)

// String names the kind as `pack inspect` shows it.
func (k LayerKind) String() string { return [...]string{"gdn", "qsa"}[k] }

// Config is a model's geometry as config.json gives it (spec 1.1), checked: every relation that the model relies on
// holds, and every size is small enough that products of them cannot overflow.
type Config struct {
	ModelType     string
	Vocab         int // V, rows of the embedding and the head
	Hidden        int // H
	Layers        int
	Kinds         []LayerKind // [Layers]
	Heads         int         // query heads, a multiple of KVHeads
	KVHeads       int
	HeadDim       int
	Eps           float32 // rms_norm_eps, of every norm
	GateSilu      bool    // the GDN output gate is silu, else sigmoid
	MaxPositions  int
	Rope          Rope
	MTPRope       Rope // of the MTP layer; equal to Rope unless mtp.rope_theta differs
	Tied          bool // lm_head is embed_tokens
	KeyHeads      int  // GDN
	ValueHeads    int  // a multiple of KeyHeads
	KeyDim        int
	ValueDim      int
	Conv          int // taps of the GDN convolution
	Experts       int
	TopK          int
	ExpertInner   int
	SharedInner   int
	RenormTopK    bool
	Streams       int   // S, hc_count
	LowRank       int   // R of the stream mixers
	PLELayers     []int // trunk layer indices that have PLE, ZERO-based, ascending; empty: no PLE
	PLEDim        int   // ple_embed_dim: NgramHeads rows side by side
	PLEConv       int   // taps; the dilation is NgramSize
	NgramSize     int
	HeadsPerNgram int
	NgramBase     int64 // head sizes are the primes from here on
	NgramDivisor  int64 // table rows are padded to a multiple of it
	NgramSeed     uint64
	NgramEOS      int32 // the boundary id of the hash: the text config's eos, the FIRST of a list (spec 2.7.2)
	IndexHeads    int   // QSA indexer
	IndexDim      int
	IndexBudget   int     // tokens
	IndexRatio    int     // tokens per block
	StopIDs       []int32 // ids that end a generation: generation_config, root and text eos
	BOS           int32   // -1 if there is none
	MTPLayers     int     // 0: config.json knows no MTP head
}

// NgramHeads is the number of table rows that make one PLE embedding: one per head and n-gram order from 2.
func (c *Config) NgramHeads() int { return c.HeadsPerNgram * (c.NgramSize - 1) }

// RowDim is the width of one row of the n-gram table.
func (c *Config) RowDim() int {
	if n := c.NgramHeads(); n > 0 {
		return c.PLEDim / n
	}
	return 0
}

// Width is S*H, the columns of the residual streams.
func (c *Config) Width() int { return c.Streams * c.Hidden }

// KVDim is the columns of the key and of the value cache of a QSA layer.
func (c *Config) KVDim() int { return c.KVHeads * c.HeadDim }

// QKV is the columns of a GDN layer's in_proj_qkv: q, k and v side by side.
func (c *Config) QKV() int { return 2*c.KeyHeads*c.KeyDim + c.ValueHeads*c.ValueDim }

// Count is the number of layers of a kind.
func (c *Config) Count(kind LayerKind) int {
	n := 0
	for _, k := range c.Kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// Rope is the rotary embedding (spec 2.5).
type Rope struct {
	Theta         float64
	PartialFactor float64
	Type          string // "default" or "yarn"

	// YaRN only.
	Factor          float64
	OriginalMax     int
	BetaFast        float64
	BetaSlow        float64
	AttentionFactor float64 // 0: computed from Factor (and MScale, MScaleAllDim if set)
	MScale          float64
	MScaleAllDim    float64
	Truncate        bool
}

// RotaryDim is the number of leading dimensions of a head that are rotated: int(head_dim * partial_rotary_factor).
func (r Rope) RotaryDim(headDim int) int { return int(float64(headDim) * r.PartialFactor) }

// Scale is what cos and sin are multiplied by: 1 by default, with YaRN the attention factor or 0.1 ln(factor) + 1.
func (r Rope) Scale() float64 {
	if r.Type != "yarn" {
		return 1
	}
	if r.AttentionFactor > 0 {
		return r.AttentionFactor
	}
	mscale := func(m float64) float64 {
		if r.Factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(r.Factor) + 1
	}
	if r.MScale != 0 && r.MScaleAllDim != 0 {
		return mscale(r.MScale) / mscale(r.MScaleAllDim)
	}
	return mscale(1)
}

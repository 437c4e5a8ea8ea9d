package qsa

import (
	"fmt"
	"math"
)

// Yarn is static YaRN scaling (rope_type "yarn", spec 2.5). The zero value of an optional field takes its default.
type Yarn struct {
	Factor          float64
	OriginalMax     int     // original_max_position_embeddings
	BetaFast        float64 // 0: 32
	BetaSlow        float64 // 0: 1
	AttentionFactor float64 // 0: from Factor, or from MScale and MScaleAllDim where both are set
	MScale          float64
	MScaleAllDim    float64
	NoTruncate      bool // keep the ramp's ends fractional (truncate: false)
}

// InvFreq is the rotary embedding's inverse frequencies (spec 2.5). A model has one object, shared by its attention layers
// and all its indexers; it is immutable and safe for concurrent use.
type InvFreq struct {
	theta float64
	inv   []float32 // [rotary/2]
	scale float32
}

// NewInvFreq makes the table for a rotary width (even), theta, and YaRN or nil. Errors wrap ErrGeometry.
func NewInvFreq(rotary int, theta float64, yarn *Yarn) (*InvFreq, error) {
	if rotary < 2 || rotary%2 != 0 || rotary > 1<<16 {
		return nil, fmt.Errorf("%w: rotary width: got %d, want an even number from 2 to %d", ErrGeometry, rotary, 1<<16)
	}
	if !(theta > 1) || math.IsInf(theta, 0) {
		return nil, fmt.Errorf("%w: rope_theta: got %v, want a finite number above 1", ErrGeometry, theta)
	}
	f := &InvFreq{theta: theta, inv: make([]float32, rotary/2), scale: 1}
	for i := range f.inv {
		f.inv[i] = 1 / power(theta, i, rotary)
	}
	if yarn == nil {
		return f, nil
	}
	if err := yarn.validate(); err != nil {
		return nil, err
	}
	f.scale = float32(yarn.attention())
	yarn.blend(f.inv, rotary, theta)
	return f, nil
}

// power is theta^(2i/rotary) rounded to f32, the exponent in f32 too: the reference builds the table in f32.
func power(theta float64, i, rotary int) float32 {
	return float32(math.Pow(theta, float64(float32(2*i)/float32(rotary))))
}

// Rotary is the number of dimensions that are rotated.
func (f *InvFreq) Rotary() int { return 2 * len(f.inv) }

// Theta is the base.
func (f *InvFreq) Theta() float64 { return f.theta }

// Scale is the factor on cos and sin: 1 but for YaRN.
func (f *InvFreq) Scale() float32 { return f.scale }

// Values is a copy of the inverse frequencies, [Rotary/2].
func (f *InvFreq) Values() []float32 { return append([]float32(nil), f.inv...) }

// Angles writes cos | sin of position pos to dst [Rotary], already scaled. The angle is pos*inv in f32, as in the
// reference; cos and sin of it are rounded to f32.
func (f *InvFreq) Angles(dst []float32, pos int) {
	half := len(f.inv)
	if len(dst) != 2*half {
		panic(fmt.Sprintf("qsa: Angles: got room for %d values, want %d", len(dst), 2*half))
	}
	p := float32(pos)
	for i, inv := range f.inv {
		sin, cos := sincos(float64(float32(p * inv)))
		dst[i], dst[half+i] = float32(float32(cos)*f.scale), float32(float32(sin)*f.scale)
	}
}

func (y *Yarn) validate() error {
	bad := func(field string, got any, want string) error {
		return fmt.Errorf("%w: rope yarn: %s: got %v, want %s", ErrGeometry, field, got, want)
	}
	switch {
	case !(y.Factor >= 1) || math.IsInf(y.Factor, 0):
		return bad("factor", y.Factor, "1 or more")
	case y.OriginalMax < 1:
		return bad("original_max_position_embeddings", y.OriginalMax, "1 or more")
	case !(y.BetaFast >= 0) || !(y.BetaSlow >= 0):
		return bad("beta_fast, beta_slow", [2]float64{y.BetaFast, y.BetaSlow}, "0 (default) or more")
	case !(y.AttentionFactor >= 0) || !(y.MScale >= 0) || !(y.MScaleAllDim >= 0):
		return bad("attention_factor, mscale, mscale_all_dim", [3]float64{y.AttentionFactor, y.MScale, y.MScaleAllDim}, "0 (absent) or more")
	}
	return nil
}

// attention is the factor on cos and sin.
func (y *Yarn) attention() float64 {
	if y.AttentionFactor > 0 {
		return y.AttentionFactor
	}
	m := func(scale float64) float64 {
		if y.Factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(y.Factor) + 1
	}
	if y.MScale > 0 && y.MScaleAllDim > 0 {
		return m(y.MScale) / m(y.MScaleAllDim)
	}
	return m(1)
}

// blend mixes the plain frequencies inv with those of Factor times longer waves: fast dimensions (more than BetaFast turns
// over OriginalMax positions) keep theirs, slow ones (fewer than BetaSlow) are stretched, a linear ramp lies between.
func (y *Yarn) blend(inv []float32, rotary int, theta float64) {
	fast, slow := y.BetaFast, y.BetaSlow
	if fast == 0 {
		fast = 32
	}
	if slow == 0 {
		slow = 1
	}
	// dimension is where a wave turns so many times over OriginalMax positions.
	dimension := func(turns float64) float64 {
		return float64(rotary) * math.Log(float64(y.OriginalMax)/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	low, high := dimension(fast), dimension(slow)
	if !y.NoTruncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(rotary-1))
	if low == high {
		high += 0.001 // a step, without a division by zero
	}
	for i := range inv {
		ramp := float32(min(max((float64(i)-low)/(high-low), 0), 1))
		keep := 1 - ramp
		stretched := 1 / float32(float32(y.Factor)*power(theta, i, rotary))
		inv[i] = float32(stretched*(1-keep)) + float32(inv[i]*keep)
	}
}

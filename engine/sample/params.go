package sample

import (
	"fmt"
	"math"
)

// Limits of the parameters; Validate's messages name them.
const (
	MaxTemperature = 100
	MaxPenalty     = 2   // presence and frequency, either sign
	MaxBias        = 100 // either sign
	MaxTopLogprobs = 20
)

// Params are the sampling settings of one choice of one request. The zero value is not valid (top-p and repetition must be above 0); start from [Defaults].
type Params struct {
	Temperature float64 // 0: argmax
	TopK        int     // 0: off
	TopP        float64 // 1: off
	MinP        float64 // 0: off
	Presence    float64 // subtracted once from every id in the output; 0: off
	Frequency   float64 // subtracted per occurrence in the output; 0: off
	Repetition  float64 // divides or multiplies the logit of every id in prompt or output; 1: off
	Bias        []Bias  // added to logits, each id at most once; not changed, not to be changed while a Sampler uses it
	Seed        uint64
	Choice      uint32 // index of the choice when a request asks for several
	Logprobs    bool   // fill Token.Logprob
	TopLogprobs int    // entries of Token.Top; above 0 only with Logprobs
}

// Bias is one entry of the logit bias.
type Bias struct {
	ID  int32
	Add float32
}

// Defaults returns plain sampling: temperature 1, nothing filtered, no penalties, seed 0.
func Defaults() Params { return Params{Temperature: 1, TopP: 1, Repetition: 1} }

// FieldError says which parameter is out of its range. Field is the name on the wire ("top_p").
type FieldError struct {
	Field string
	Got   any
	Want  string
}

// Error implements error.
func (e *FieldError) Error() string {
	return fmt.Sprintf("sample: %s: got %v, want %s", e.Field, e.Got, e.Want)
}

// Validate checks every range. The error is a *[FieldError]. Whether the ids of the bias exist is checked by [Params.ValidateIn].
func (p Params) Validate() error {
	for _, c := range [...]struct {
		field  string
		got    float64
		lo, hi float64
		want   string
	}{
		{"temperature", p.Temperature, 0, MaxTemperature, "a number from 0 to 100"},
		{"top_p", p.TopP, math.SmallestNonzeroFloat64, 1, "a number above 0, at most 1"},
		{"min_p", p.MinP, 0, 1, "a number from 0 to 1"},
		{"presence_penalty", p.Presence, -MaxPenalty, MaxPenalty, "a number from -2 to 2"},
		{"frequency_penalty", p.Frequency, -MaxPenalty, MaxPenalty, "a number from -2 to 2"},
		{"repetition_penalty", p.Repetition, math.SmallestNonzeroFloat64, math.MaxFloat64, "a finite number above 0"},
	} {
		if !(c.got >= c.lo && c.got <= c.hi) { // written so that NaN fails
			return &FieldError{c.field, c.got, c.want}
		}
	}
	if p.TopK < 0 {
		return &FieldError{"top_k", p.TopK, "0 (off) or a positive integer"}
	}
	if p.TopLogprobs < 0 || p.TopLogprobs > MaxTopLogprobs {
		return &FieldError{"top_logprobs", p.TopLogprobs, "an integer from 0 to 20"}
	}
	if p.TopLogprobs > 0 && !p.Logprobs {
		return &FieldError{"top_logprobs", p.TopLogprobs, "0 unless logprobs is true"}
	}
	return p.validateBias()
}

func (p Params) validateBias() error {
	if len(p.Bias) == 0 {
		return nil
	}
	seen := make(map[int32]bool, len(p.Bias))
	for _, b := range p.Bias {
		field := fmt.Sprintf("logit_bias[%d]", b.ID)
		switch {
		case b.ID < 0:
			return &FieldError{field, b.ID, "a token id of the vocabulary"}
		case seen[b.ID]:
			return &FieldError{field, "the id twice", "each id once"}
		case !(b.Add >= -MaxBias && b.Add <= MaxBias):
			return &FieldError{field, b.Add, "a number from -100 to 100"}
		}
		seen[b.ID] = true
	}
	return nil
}

// ValidateIn is Validate and checks that the bias names only ids that v has: a bias that could not do anything is refused, not ignored.
func (p Params) ValidateIn(v *Vocab) error {
	if err := p.Validate(); err != nil {
		return err
	}
	for _, b := range p.Bias {
		if !v.Known(b.ID) {
			return &FieldError{fmt.Sprintf("logit_bias[%d]", b.ID), b.ID, fmt.Sprintf("a token id of the vocabulary (size %d)", v.Size())}
		}
	}
	return nil
}

// Penalised reports whether any penalty is on, that is, whether Sample needs a History.
func (p Params) Penalised() bool { return p.counts() || p.Repetition != 1 }

// counts reports whether the output's counts matter (presence, frequency).
func (p Params) counts() bool { return p.Presence != 0 || p.Frequency != 0 }

// Greedy reports whether the token is a plain argmax.
func (p Params) Greedy() bool { return p.Temperature == 0 }

// Noise returns the request's source of randomness.
func (p Params) Noise() Noise { return Noise{Seed: p.Seed, Choice: p.Choice} }

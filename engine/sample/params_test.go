package sample

import (
	"errors"
	"math"
	"testing"
)

func TestValidate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		field string // "" = valid
		set   func(*Params)
	}{
		{"", func(p *Params) {}},
		{"", func(p *Params) { p.Temperature, p.TopP, p.MinP, p.TopK = 0, 1e-300, 1, 1<<40 }},
		{"", func(p *Params) { p.Temperature, p.Presence, p.Frequency, p.Repetition = 100, -2, 2, 1e-300 }},
		{"", func(p *Params) { p.Logprobs, p.TopLogprobs = true, 20 }},
		{"", func(p *Params) { p.Bias = []Bias{{0, 100}, {9, -100}} }},
		{"temperature", func(p *Params) { p.Temperature = -0.1 }},
		{"temperature", func(p *Params) { p.Temperature = nan }},
		{"temperature", func(p *Params) { p.Temperature = inf }},
		{"temperature", func(p *Params) { p.Temperature = 100.5 }},
		{"top_p", func(p *Params) { p.TopP = 0 }},
		{"top_p", func(p *Params) { p.TopP = 1.01 }},
		{"top_p", func(p *Params) { p.TopP = nan }},
		{"top_k", func(p *Params) { p.TopK = -1 }},
		{"min_p", func(p *Params) { p.MinP = -1e-9 }},
		{"min_p", func(p *Params) { p.MinP = nan }},
		{"presence_penalty", func(p *Params) { p.Presence = 2.1 }},
		{"frequency_penalty", func(p *Params) { p.Frequency = -2.1 }},
		{"frequency_penalty", func(p *Params) { p.Frequency = nan }},
		{"repetition_penalty", func(p *Params) { p.Repetition = 0 }},
		{"repetition_penalty", func(p *Params) { p.Repetition = inf }},
		{"top_logprobs", func(p *Params) { p.Logprobs, p.TopLogprobs = true, 21 }},
		{"top_logprobs", func(p *Params) { p.TopLogprobs = 3 }},
		{"logit_bias[4]", func(p *Params) { p.Bias = []Bias{{4, 101}} }},
		{"logit_bias[4]", func(p *Params) { p.Bias = []Bias{{4, float32(nan)}} }},
		{"logit_bias[4]", func(p *Params) { p.Bias = []Bias{{4, 1}, {4, 1}} }},
		{"logit_bias[-1]", func(p *Params) { p.Bias = []Bias{{-1, 1}} }},
	} {
		p := Defaults()
		c.set(&p)
		err := p.Validate()
		var fe *FieldError
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%+v: %v, want no error", p, err)
		case c.field != "" && !errors.As(err, &fe):
			t.Errorf("%+v: error %v, want a FieldError for %s", p, err, c.field)
		case c.field != "" && fe.Field != c.field:
			t.Errorf("%+v: error names %s, want %s", p, fe.Field, c.field)
		}
	}
}

func TestValidateInKnowsTheVocabulary(t *testing.T) {
	v := NewVocab(10, func(id int32) bool { return id < 8 })
	for id, ok := range map[int32]bool{7: true, 8: false, 10: false} {
		p := Defaults()
		p.Bias = []Bias{{id, 1}}
		if err := p.ValidateIn(v); (err == nil) != ok {
			t.Errorf("bias of id %d: error %v, want none: %v", id, err, ok)
		}
	}
}

func TestNewRefusesUncheckedParams(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New took the zero Params")
		}
	}()
	New(Params{}, NewVocab(4, nil))
}

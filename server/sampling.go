package server

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/server/body"
)

// Limits of request fields that are the API's, not the sampler's.
const (
	maxTemperature = 2
	maxStops       = 4
	maxStopBytes   = 1024
)

// readSampling reads the sampling fields; what is not named comes from the model's defaults. The seed is always set:
// given, the server's, or a fresh one.
func readSampling(r *body.Reader, m *Model) (p sample.Params, seedGiven bool) {
	p = m.Defaults
	p.Bias = slices.Clone(p.Bias)
	set := func(field *float64, name string, lo, hi float64) {
		if x, given := r.Float(name, lo, hi); given {
			*field = x
		}
	}
	set(&p.Temperature, "temperature", 0, maxTemperature)
	set(&p.TopP, "top_p", 0, 1)
	if p.TopP == 0 {
		p.TopP = math.SmallestNonzeroFloat64 // keeps the one token that crosses it, which is what 0 means elsewhere
	}
	set(&p.MinP, "min_p", 0, 1)
	set(&p.Presence, "presence_penalty", -sample.MaxPenalty, sample.MaxPenalty)
	set(&p.Frequency, "frequency_penalty", -sample.MaxPenalty, sample.MaxPenalty)
	set(&p.Repetition, "repetition_penalty", 0, math.MaxFloat64)
	if k, given := r.Int("top_k", 0, math.MaxInt32); given {
		p.TopK = int(k)
	}
	readBias(r, m.Vocab, &p)
	p.Seed, seedGiven = readSeed(r, m)
	if r.Err() == nil {
		keepSampling(r, p.ValidateIn(m.Vocab))
	}
	return p, seedGiven
}

// keepSampling records what the sampler itself refuses, under the field's name.
func keepSampling(r *body.Reader, err error) {
	var field *sample.FieldError
	switch {
	case err == nil:
	case errors.As(err, &field):
		r.Fail(field.Field, body.CodeInvalidValue, "must be %s, got %v", field.Want, field.Got)
	default:
		r.Fail("", body.CodeInvalidValue, "%v", err)
	}
}

// readSeed takes every 64-bit integer, signed or not: -1 and 18446744073709551615 are the same seed.
func readSeed(r *body.Reader, m *Model) (seed uint64, given bool) {
	v, given := r.Take("seed")
	if given {
		if n, err := strconv.ParseUint(v.Text, 10, 64); v.Kind == body.Number && err == nil {
			return n, true
		}
		n, err := body.Integer(v)
		switch {
		case v.Kind != body.Number:
			r.Fail("seed", body.CodeInvalidType, "%s", err)
		case err != "":
			r.Fail("seed", body.CodeInvalidValue, "%s (a seed is a 64-bit integer)", err)
		}
		return uint64(n), true
	}
	if m.Seed != nil {
		return *m.Seed, true
	}
	return freshSeed(), false
}

// readBias reads logit_bias, an object of token ids (as strings) and numbers.
func readBias(r *body.Reader, vocab *sample.Vocab, p *sample.Params) {
	bias, given := r.Reader("logit_bias")
	if !given {
		return
	}
	var ids []string
	bias.Untaken(func(name string, v *body.Value) { ids = append(ids, name) })
	at := map[int32]string{}
	for _, name := range ids {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || !vocab.Known(int32(id)) {
			bias.Fail(name, body.CodeInvalidValue, "is no token id of the vocabulary (0 to %d)", vocab.Size()-1)
			break
		}
		if other, twice := at[int32(id)]; twice {
			bias.Fail(name, body.CodeInvalidValue, "is the same token id as %q", other)
			break
		}
		at[int32(id)] = name
		if add, given := bias.Float(name, -sample.MaxBias, sample.MaxBias); given {
			p.Bias = slices.DeleteFunc(p.Bias, func(b sample.Bias) bool { return b.ID == int32(id) })
			p.Bias = append(p.Bias, sample.Bias{ID: int32(id), Add: float32(add)})
		}
	}
	slices.SortFunc(p.Bias, func(a, b sample.Bias) int { return cmp.Compare(a.ID, b.ID) })
	keepError(r, bias.Err())
}

// readStop reads stop: a string, or up to four.
func readStop(r *body.Reader) []string { return readStops(r, "stop", true, maxStops) }

// readStops reads stop strings: an array of up to most, or a string if a bare one is allowed.
func readStops(r *body.Reader, field string, bare bool, most int) []string {
	v, given := r.Take(field)
	if !given {
		return nil
	}
	items := []*body.Value{v}
	if v.Kind == body.Array {
		items = v.Items
	}
	if v.Kind != body.Array && !bare {
		r.Fail(field, body.CodeInvalidType, "must be an array of strings, got %s", v.Kind)
		return nil
	}
	if len(items) > most {
		r.Fail(field, body.CodeInvalidValue, "has %d strings, at most %d are taken", len(items), most)
		return nil
	}
	var stops []string
	for i, item := range items {
		name := field
		if v.Kind == body.Array {
			name = body.Index(name, i)
		}
		switch {
		case item.Kind != body.String:
			r.Fail(name, body.CodeInvalidType, "must be a string, got %s", item.Kind)
		case item.Text == "":
			r.Fail(name, body.CodeInvalidValue, "is empty: it would match everywhere")
		case len(item.Text) > maxStopBytes:
			r.Fail(name, body.CodeInvalidValue, "has %d bytes, at most %d are taken", len(item.Text), maxStopBytes)
		case !slices.Contains(stops, item.Text):
			stops = append(stops, item.Text)
		}
	}
	return stops
}

// readDrafting reads depth and acceptance.
func readDrafting(r *body.Reader, m *Model) (depth int, rule verify.Rule) {
	depth, rule = m.Depth, m.Rule
	if d, given := r.Int("depth", 0, MaxDepth); given {
		depth = int(d)
		if depth > m.MaxDepth {
			r.Fail("depth", body.CodeInvalidValue, "is %d, but this pack can draft at most %d tokens a round", depth, m.MaxDepth)
		}
	}
	if name, given := r.Str("acceptance"); given {
		parsed, err := verify.ParseRule(name)
		if err != nil {
			r.Fail("acceptance", body.CodeInvalidValue, "must be 'coupled' or 'residual', got %q", name)
		}
		rule = parsed
	}
	return depth, rule
}

// readMaxTokens reads the length limit under all its names; 0 means that none was given.
func readMaxTokens(r *body.Reader, names ...string) (limit int) {
	first := ""
	for _, name := range names {
		n, given := r.Int(name, 1, math.MaxInt32)
		switch {
		case !given:
		case first == "":
			first, limit = name, int(n)
		case limit != int(n):
			r.Fail(first, body.CodeInvalidValue, "is %d but %s is %d: give one, or the same twice", limit, name, n)
		}
	}
	return limit
}

// keepError records an error of an inner reader.
func keepError(r *body.Reader, err error) {
	var field *body.Error
	if errors.As(err, &field) {
		r.Keep(field)
	}
}

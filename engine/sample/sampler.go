package sample

import (
	"fmt"
	"math"
)

// Sampler binds one request's parameters to a vocabulary, with scratch space. What it returns depends on its arguments only, never on earlier calls.
// One goroutine at a time; Clone for another.
//
// Scratch grows to at most about 20 bytes per vocabulary id, and only for the steps that a request uses. In the steady state no method allocates, except for Token.Top.
type Sampler struct {
	p      Params
	v      *Vocab
	minLog float64 // log(min_p)

	maxima []float32 // of the blocks of the shaped row
	work   []float32 // shaped row; then the raw row without holes, for logprobs
	ids    []int32   // the current field
	vals   []float32
	mass   []uint64
	hist   []uint64 // of cut
	best   leaders
	race   race
	dist   Dist
}

// New binds p to v. It panics if p is not valid in v: callers refuse such requests before ([Params.ValidateIn]).
func New(p Params, v *Vocab) *Sampler {
	if err := p.ValidateIn(v); err != nil {
		panic(fmt.Sprintf("sample: new sampler with unchecked parameters: %v", err))
	}
	s := &Sampler{p: p, v: v, minLog: math.Inf(-1)}
	if p.MinP > 0 {
		s.minLog = log(p.MinP)
	}
	return s
}

// Clone returns a sampler with the same parameters and scratch space of its own.
func (s *Sampler) Clone() *Sampler { return New(s.p, s.v) }

// Params returns the request's parameters.
func (s *Sampler) Params() Params { return s.p }

// Vocab returns the ids that may be sampled.
func (s *Sampler) Vocab() *Vocab { return s.v }

// Noise returns the request's source of randomness.
func (s *Sampler) Noise() Noise { return s.p.Noise() }

// Sample returns the token at absolute position pos, given the row of logits [vocab] of position pos-1, which it does not change, and the
// history before pos (nil will do when no penalty is on).
//
// Errors wrap ErrNotFinite, ErrRow, ErrNoCandidate or ErrNoHistory and name the position.
func (s *Sampler) Sample(logits []float32, pos int, h *History) (Token, error) {
	return s.SampleAllowed(logits, pos, h, nil)
}

// SampleAllowed is Sample among the ids whose bit is set in allow: bit id%64 of word id/64, Vocab.Words words. nil allows all; ids
// without a token stay forbidden.
func (s *Sampler) SampleAllowed(logits []float32, pos int, h *History, allow []uint64) (Token, error) {
	row, top, first, err := s.ready(logits, pos, h, allow)
	if err != nil {
		return Token{}, err
	}
	id := first
	if !s.p.Greedy() {
		id = s.draw(s.filter(row, top), pos, first, top)
	}
	return s.describe(logits, id), nil
}

// Dist returns the distribution that Sample draws from at pos: the filtered and renormalised candidates; one candidate at temperature 0. Same errors.
func (s *Sampler) Dist(logits []float32, pos int, h *History) (Dist, error) {
	d, err := s.DistAllowed(logits, pos, h, nil)
	if err != nil {
		return Dist{}, err
	}
	return d.Clone(), nil
}

// DistAllowed is Dist with a bitset as in SampleAllowed. The result lives in the sampler: it is valid, and the caller may change it, until the next call of DistAllowed or Dist.
func (s *Sampler) DistAllowed(logits []float32, pos int, h *History, allow []uint64) (*Dist, error) {
	row, top, first, err := s.ready(logits, pos, h, allow)
	if err != nil {
		return nil, err
	}
	if s.p.Greedy() {
		s.dist.IDs, s.dist.P = append(s.dist.IDs[:0], first), append(s.dist.P[:0], 1)
	} else {
		s.fill(&s.dist, s.filter(row, top), top)
	}
	return &s.dist, nil
}

// Describe returns id as a Token with the logprobs that the parameters ask for: what Sample would have returned had it drawn id. Same errors; an id without a token wraps ErrNoCandidate.
func (s *Sampler) Describe(logits []float32, pos int, id int32) (Token, error) {
	if len(logits) != s.v.size {
		return Token{}, rowError(pos, len(logits), s.v.size, "the row of logits")
	}
	if !s.v.Known(id) {
		return Token{}, fmt.Errorf("sample: position %d: %w: id %d has no token", pos, ErrNoCandidate, id)
	}
	if err := s.scan(logits, pos); err != nil {
		return Token{}, err
	}
	return s.describe(logits, id), nil
}

// ready checks the arguments and does steps 1 to 4. It returns the shaped row, its highest value and the lowest id that has it.
func (s *Sampler) ready(logits []float32, pos int, h *History, allow []uint64) (row []float32, top float32, first int32, err error) {
	if err := s.check(logits, pos, h, allow); err != nil {
		return nil, 0, 0, err
	}
	if err := s.scan(logits, pos); err != nil {
		return nil, 0, 0, err
	}
	row = s.shape(logits, h, allow)
	if len(row) != len(logits) || &row[0] != &logits[0] {
		s.maxima, _ = scan(s.maxima, row) // forbidden ids are at minus infinity
	}
	top, first = argmax(row, s.maxima)
	if first < 0 {
		return nil, 0, 0, fmt.Errorf("sample: position %d: %w", pos, ErrNoCandidate)
	}
	return row, top, first, nil
}

// scan refuses a row of values that are not all finite, those of ids without a token too: a bad row is a fault of the pass wherever it shows. It
// leaves the row's maxima.
func (s *Sampler) scan(logits []float32, pos int) error {
	maxima, finite := scan(s.maxima, logits)
	s.maxima = maxima
	if finite {
		return nil
	}
	return notFinite(logits, pos)
}

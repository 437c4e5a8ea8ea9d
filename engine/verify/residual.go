package verify

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/sample"
)

// residual decides one row's token by rule residual.
//
// Each position has one uniform for acceptance and one for picking. No position is decided twice, so neither is used twice; and the draft's own noise is
// in a third domain, so draft, acceptance and pick are independent, which the rule's exactness needs.
func residual(s *sample.Sampler, h *sample.History, pos int, row *Row) (sample.Token, bool, error) {
	p, err := s.DistAllowed(row.Logits, pos, h, row.Allow)
	if err != nil {
		return sample.Token{}, false, err
	}
	if row.Draft < 0 {
		return pick(s, pos, row, p)
	}
	if row.Q == nil {
		return sample.Token{}, false, fmt.Errorf("position %d: %w: draft %d has none", pos, ErrDraft, row.Draft)
	}
	pd, qd := p.Prob(row.Draft), row.Q.Prob(row.Draft)
	if !(qd > 0) {
		return sample.Token{}, false, fmt.Errorf("position %d: %w: draft %d has probability %v in it", pos, ErrDraft, row.Draft, qd)
	}
	// u < p/q, without the division. u < 1, so p >= q always accepts: u*q < q <= p.
	if float64(s.Noise().Uniform(sample.DomainAccept, pos)*qd) < pd {
		tok, err := s.Describe(row.Logits, pos, row.Draft)
		return tok, err == nil, err
	}
	// A rejection means p(d) < q(d), so p exceeds q elsewhere and the residual has mass, unless the two differ by rounding alone. Then p is the
	// residual's limit up to an event of probability 1e-16: drawing from p itself is as good.
	rest := sample.Dist{}
	if rest.Less(p, row.Q) > 0 {
		p = &rest
	}
	tok, _, err := pick(s, pos, row, p)
	return tok, false, err
}

// pick draws from d with the position's pick uniform.
func pick(s *sample.Sampler, pos int, row *Row, d *sample.Dist) (sample.Token, bool, error) {
	id := d.Pick(s.Noise().Uniform(sample.DomainPick, pos))
	tok, err := s.Describe(row.Logits, pos, id)
	return tok, false, err
}

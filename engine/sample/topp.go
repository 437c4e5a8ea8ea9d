package sample

import "math"

// massOne is the integer mass of the most probable token. Masses are integers so that their sums do not depend on the order of addition;
// a token less than 2^-41 as probable as the first weighs nothing.
const massOne = 1 << 40

// mass returns the integer mass of a token with scaled log-probability z <= 0.
func mass(z float64) uint64 {
	if z < -29 { // e^-29 * 2^40 < 1/2
		return 0
	}
	return uint64(float64(exp(z)*massOne) + 0.5)
}

// topP keeps the most probable tokens up to and including the one whose mass makes the sum reach p of the whole field's mass. Among
// equal logits the lowest ids come first. Cost: one exponential per token within 29 of the top, then up to three scans.
func (s *Sampler) topP(f field, top float32) field {
	if cap(s.mass) < len(f.vals) {
		s.mass = make([]uint64, len(f.vals))
	}
	w := s.mass[:len(f.vals)]
	var sum uint64
	for i, x := range f.vals {
		w[i] = mass(s.scaled(x, top))
		sum += w[i]
	}
	return s.cut(f, w, share(s.p.TopP, sum))
}

// share returns the smallest integer mass that is at least p of sum, from 1 to sum.
func share(p float64, sum uint64) uint64 {
	want := math.Ceil(float64(p * float64(sum)))
	if want >= float64(sum) {
		return sum
	}
	return max(1, uint64(want))
}

package sample

import (
	"slices"
)

// Dist is a filtered and renormalised distribution: the candidates after step 8, ids ascending, and their probabilities, all above 0 up to underflow, which sum
// to 1 within rounding.
type Dist struct {
	IDs []int32
	P   []float64
}

// Prob returns the probability of id, 0 if it is no candidate.
func (d *Dist) Prob(id int32) float64 {
	if i, ok := slices.BinarySearch(d.IDs, id); ok {
		return d.P[i]
	}
	return 0
}

// Clone returns an independent copy.
func (d *Dist) Clone() Dist { return Dist{slices.Clone(d.IDs), slices.Clone(d.P)} }

// Pick returns the id at u in (0, 1) of the cumulative distribution, ids ascending. Rounding cannot make it fall off the end: the last
// candidate with weight takes the rest. It returns -1 if d has no mass.
func (d *Dist) Pick(u float64) int32 {
	var total float64
	for _, p := range d.P {
		total += p
	}
	target := float64(u * total)
	at, sum := int32(-1), 0.0
	for i, p := range d.P {
		if p <= 0 {
			continue
		}
		at = d.IDs[i]
		if sum += p; sum > target {
			break
		}
	}
	return at
}

// Less sets d to the residual (p - q)+, not normalised, and returns its mass. d may be p itself. Candidates where it is 0 are left out.
func (d *Dist) Less(p, q *Dist) float64 {
	n, j, total := 0, 0, 0.0
	d.IDs, d.P = slices.Grow(d.IDs[:0], len(p.IDs))[:len(p.IDs)], slices.Grow(d.P[:0], len(p.P))[:len(p.P)]
	for i, id := range p.IDs {
		for j < len(q.IDs) && q.IDs[j] < id {
			j++
		}
		r := p.P[i]
		if j < len(q.IDs) && q.IDs[j] == id {
			r -= q.P[j]
		}
		if r > 0 {
			d.IDs[n], d.P[n] = id, r
			total += r
			n++
		}
	}
	d.IDs, d.P = d.IDs[:n], d.P[:n]
	return total
}

// fill writes the distribution of a field into d. Sums run in ascending order of ids.
func (s *Sampler) fill(d *Dist, f field, top float32) {
	d.IDs, d.P = d.IDs[:0], d.P[:0]
	var sum float64
	for i, x := range f.vals {
		if x == negInf {
			continue
		}
		p := exp(s.scaled(x, top))
		sum += p
		d.IDs, d.P = append(d.IDs, f.id(i)), append(d.P, p)
	}
	for i := range d.P {
		d.P[i] /= sum
	}
}

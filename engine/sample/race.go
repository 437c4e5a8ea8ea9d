package sample

import "slices"

// lap is how many entrants' bits are made at a time: enough to fill the vector units, small enough for the first cache.
const lap = 64

// race finds argmax(z_i + G_i) over a field: by the Gumbel-max identity a draw from softmax(z). Equal scores go to the lowest id,
// so the order of entry does not matter.
//
// Most entrants are turned away cheaply, and never one that could win. Addition in float64 is monotone, so z + G <= z + ceiling whenever
// G <= ceiling, rounding included, and ceiling bounds the computed G (see ceilings). If z + ceiling is below the best score so far, then so is
// the entrant's score, and it can neither win nor tie. ceilingAll is tried on a lap's highest z, before random bits are made; the ceiling of its own bits on each
// entrant, before the logarithms.
type race struct {
	ids  [lap]int32
	bits [lap]uint64
	best float64
	id   int32
}

// draw does step 9. first is the id of the highest logit, top its value; it is in the field. It enters first, because a high score turns most others away.
func (s *Sampler) draw(f field, pos int, first int32, top float32) int32 {
	n, at := s.p.Noise(), uint32(pos)
	r := &s.race
	r.best, r.id = gumbel(n.bits52(DomainGumbel, at, uint32(first))), first
	for from := 0; from < len(f.vals); from += lap {
		vals := f.vals[from:min(from+lap, len(f.vals))]
		high := slices.Max(vals)
		if s.scaled(high, top)+ceilingAll() < r.best {
			continue
		}
		if f.ids != nil {
			copy(r.ids[:], f.ids[from:from+len(vals)])
		} else {
			for i := range r.ids {
				r.ids[i] = int32(from + i)
			}
		}
		n.fillBits(&r.bits, &r.ids, len(vals), DomainGumbel, at)
		for i, x := range vals {
			z, b := s.scaled(x, top), r.bits[i]
			if !(z+ceiling(b) < r.best) {
				r.enter(r.ids[i], z, b)
			}
		}
	}
	return r.id
}

// enter scores one entrant. A forbidden one, at minus infinity, cannot pass: the best is finite.
func (r *race) enter(id int32, z float64, bits uint64) {
	score := z + gumbel(bits)
	if score > r.best || score == r.best && id < r.id {
		r.best, r.id = score, id
	}
}

// fillBitsGeneric is fillBits on any machine.
func (n Noise) fillBitsGeneric(dst *[lap]uint64, ids *[lap]int32, count int, d Domain, pos uint32) {
	for i, id := range ids[:count] {
		dst[i] = n.bits52(d, pos, uint32(id))
	}
}

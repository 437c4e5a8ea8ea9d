package sample

import "math"

// The selection walks the 32 bits of an ordered logit in three digits, from the top.
var digits = [...]struct{ shift, bits uint }{{21, 11}, {10, 11}, {0, 10}}

// cut keeps the smallest prefix of the field, ordered by logit descending and id ascending, whose mass reaches target (at least 1). w is each
// token's mass, equal for equal logits; nil means 1 each. If the whole mass is less than target everything remains.
//
// It is a radix selection: find the digit of the logit at which the mass from above crosses target, three times. Nothing is sorted,
// and as masses are integers the result equals that of sorting.
func (s *Sampler) cut(f field, w []uint64, target uint64) field {
	if s.hist == nil {
		s.hist = make([]uint64, 1<<11)
	}
	var prefix, mask uint32
	for _, d := range digits {
		hist := s.hist[:1<<d.bits]
		clear(hist)
		for i, x := range f.vals {
			key := order(x)
			if key&mask == prefix && x != negInf {
				hist[key>>d.shift&(1<<d.bits-1)] += weight(w, i)
			}
		}
		digit := len(hist) - 1
		for ; digit > 0 && hist[digit] < target; digit-- {
			target -= hist[digit]
		}
		prefix |= uint32(digit) << d.shift
		mask |= (1<<d.bits - 1) << d.shift
	}
	// prefix is now the boundary's logit, or 0 (below every logit) if target was not reached; target is what its tokens must still bring.
	out := s.keep()
	for i, x := range f.vals {
		if x == negInf {
			continue
		}
		switch key := order(x); {
		case key < prefix:
			continue
		case key == prefix:
			if target == 0 {
				continue
			}
			target -= min(target, weight(w, i))
		}
		out.ids, out.vals = append(out.ids, f.id(i)), append(out.vals, x)
	}
	return s.settle(out)
}

func weight(w []uint64, i int) uint64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// order maps a float32 to an integer of the same order; both zeros are one value, as they are equal logits.
func order(x float32) uint32 {
	b := math.Float32bits(x)
	if x == 0 {
		b = 0
	}
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

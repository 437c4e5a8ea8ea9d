package sample

// field is what remains of a row after some steps: ids ascending with their logits. ids nil means that vals is the whole row
// and the index is the id; entries at minus infinity are then not part of it.
type field struct {
	ids  []int32
	vals []float32
}

func (f field) id(i int) int32 {
	if f.ids == nil {
		return int32(i)
	}
	return f.ids[i]
}

// filter does steps 6 to 8 on a shaped row whose highest value is top. Temperature is above 0. The result is valid until the next call.
func (s *Sampler) filter(row []float32, top float32) field {
	f := field{vals: row}
	if k := s.p.TopK; k > 0 && k < len(row) {
		f = s.topK(row, k)
	}
	if s.p.TopP < 1 {
		f = s.topP(f, top)
	}
	if s.p.MinP > 0 {
		f = s.minP(f, top)
	}
	return f
}

// scaled returns the log-probability of logit x up to a constant: (x - top)/temperature, at most 0. Subtracting first keeps
// a tiny temperature from making infinities of the top.
func (s *Sampler) scaled(x, top float32) float64 {
	return (float64(x) - float64(top)) / s.p.Temperature
}

// keep starts a new field in the sampler's buffers. A field that lives there already may be read while a subset of it is
// written: writing never overtakes reading.
func (s *Sampler) keep() field { return field{ids: s.ids[:0], vals: s.vals[:0]} }

// settle remembers buffers that append may have moved, and returns f with ids that are not nil.
func (s *Sampler) settle(f field) field {
	s.ids, s.vals = f.ids, f.vals
	return f
}

// minP keeps what has at least min_p times the highest probability; the highest itself always remains.
func (s *Sampler) minP(f field, top float32) field {
	out := s.keep()
	for i, x := range f.vals {
		if s.scaled(x, top) >= s.minLog {
			out.ids, out.vals = append(out.ids, f.id(i)), append(out.vals, x)
		}
	}
	return s.settle(out)
}

package sample

import "slices"

// Token is a sampled token.
type Token struct {
	ID      int32
	Logprob float64        // natural log of the model's own probability: softmax of the raw row over the known ids, before every step. 0 unless Params.Logprobs
	Top     []LogprobEntry // the Params.TopLogprobs most probable known ids by the same measure, most probable first; fewer if the vocabulary is smaller
}

// LogprobEntry is one alternative at a position.
type LogprobEntry struct {
	ID      int32
	Logprob float64
}

// describe fills in what a client asked to know about id. The row has been checked. The sum runs over known ids in ascending order.
func (s *Sampler) describe(logits []float32, id int32) Token {
	t := Token{ID: id}
	if !s.p.Logprobs {
		return t
	}
	row := logits[:s.v.limit]
	holes := s.v.holes
	if len(holes) > 0 {
		s.work = append(s.work[:0], row...) // the shaped row is done with by now
		row = s.work
		for _, id := range holes {
			row[id] = negInf
		}
	}
	s.maxima, _ = scan(s.maxima, row)
	top, _ := argmax(row, s.maxima)
	var sum float64
	for _, x := range row {
		sum += exp(float64(x) - float64(top))
	}
	norm := log(sum)
	of := func(x float32) float64 { return (float64(x) - float64(top)) - norm }
	t.Logprob = of(row[id])
	if s.p.TopLogprobs == 0 {
		return t
	}
	best := s.best.reset(s.p.TopLogprobs)
	for i, x := range row {
		if x > best.floor {
			best.add(int32(i), x)
		}
	}
	t.Top = slices.Grow(t.Top, len(best.list))
	for _, e := range best.list {
		t.Top = append(t.Top, LogprobEntry{e.id, of(e.val)})
	}
	return t
}

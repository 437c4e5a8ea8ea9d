package sample

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The naive twin: the same law written as plainly as it can be, with a full sort and no shortcut. Tests hold Sampler against it.

type candidate struct {
	id int32
	l  float32
	z  float64
}

// twinFilter does steps 1 to 8. prompt and output are the tokens before the position.
func twinFilter(p Params, v *Vocab, logits []float32, prompt, output []int32, allow []uint64) []candidate {
	var out []candidate
	for id, x := range logits {
		if !v.Known(int32(id)) || allow != nil && allow[id/64]>>(id%64)&1 == 0 {
			continue
		}
		for _, b := range p.Bias {
			if int(b.ID) == id {
				x = round32(float64(x) + float64(b.Add))
			}
		}
		l := float64(x)
		count := 0
		for _, o := range output {
			if int(o) == id {
				count++
			}
		}
		if count > 0 || slices.Contains(prompt, int32(id)) {
			if l > 0 {
				l = l / p.Repetition
			} else {
				l = float64(l * p.Repetition)
			}
		}
		if count > 0 {
			l = l - p.Presence
			l = l - float64(p.Frequency*float64(count))
		}
		out = append(out, candidate{id: int32(id), l: round32(l)})
	}
	slices.SortStableFunc(out, func(a, b candidate) int { // stable: lowest id first among equals
		switch {
		case a.l > b.l:
			return -1
		case a.l < b.l:
			return 1
		}
		return 0
	})
	if len(out) == 0 {
		return nil
	}
	if p.Temperature == 0 {
		return out[:1]
	}
	for i := range out {
		out[i].z = (float64(out[i].l) - float64(out[0].l)) / p.Temperature
	}
	if p.TopK > 0 && p.TopK < len(out) {
		out = out[:p.TopK]
	}
	if p.TopP < 1 {
		var sum, cum uint64
		for _, c := range out {
			sum += uint64(float64(exp(c.z)*(1<<40)) + 0.5)
		}
		want := min(uint64(math.Ceil(float64(p.TopP*float64(sum)))), sum)
		for i, c := range out {
			cum += uint64(float64(exp(c.z)*(1<<40)) + 0.5)
			if cum >= want {
				out = out[:i+1]
				break
			}
		}
	}
	if p.MinP > 0 {
		n := 0
		for n < len(out) && out[n].z >= log(p.MinP) {
			n++
		}
		out = out[:n]
	}
	return out
}

// twinSample is step 9 with every logarithm taken.
func twinSample(p Params, cands []candidate, pos int) int32 {
	best, id := math.Inf(-1), int32(-1)
	for _, c := range cands {
		score := c.z
		if p.Temperature > 0 {
			score += p.Noise().Gumbel(pos, c.id)
		}
		if score > best || score == best && c.id < id {
			best, id = score, c.id
		}
	}
	return id
}

// twinLogprob is the raw log-softmax, by math's own functions.
func twinLogprob(v *Vocab, logits []float32, id int32) float64 {
	top, sum := math.Inf(-1), 0.0
	for i, x := range logits {
		if v.Known(int32(i)) {
			top = max(top, float64(x))
		}
	}
	for i, x := range logits {
		if v.Known(int32(i)) {
			sum += math.Exp(float64(x) - top)
		}
	}
	return float64(logits[id]) - top - math.Log(sum)
}

// gaussianRow makes logits like a model's: normal with the given spread, some of them tied.
func gaussianRow(r *rand.Rand, n int, spread float64) []float32 {
	row := make([]float32, n)
	for i := range row {
		row[i] = float32(r.NormFloat64() * spread)
		if r.IntN(8) == 0 {
			row[i] = float32(math.Round(float64(row[i])*2) / 2)
		}
	}
	return row
}

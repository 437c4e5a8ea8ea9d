package sample

import (
	"fmt"
	"math"
)

var negInf = float32(math.Inf(-1))

// check refuses rows and bitsets of the wrong length, and a history that cannot serve the penalties.
func (s *Sampler) check(logits []float32, pos int, h *History, allow []uint64) error {
	if len(logits) != s.v.size {
		return rowError(pos, len(logits), s.v.size, "the row of logits")
	}
	if allow != nil && len(allow) != len(s.v.known) {
		return rowError(pos, len(allow), len(s.v.known), "the bitset of allowed ids, in 64-bit words,")
	}
	if !h.serves(&s.p) {
		return fmt.Errorf("sample: position %d: %w", pos, ErrNoHistory)
	}
	return nil
}

// notFinite names the first bad value of a row that has one.
func notFinite(logits []float32, pos int) error {
	for id, x := range logits {
		if x-x != 0 {
			return fmt.Errorf("sample: position %d: %w: id %d has %v", pos, ErrNotFinite, id, x)
		}
	}
	return fmt.Errorf("sample: position %d: %w", pos, ErrNotFinite) // not reached
}

// shape does steps 1 to 4: it returns the row with forbidden ids at minus infinity and bias and penalties applied, cut at the highest known id.
// The result is logits itself when nothing changes, else s.work; read-only for the caller, valid until the next call.
func (s *Sampler) shape(logits []float32, h *History, allow []uint64) []float32 {
	row := logits[:s.v.limit]
	if len(s.v.holes) == 0 && allow == nil && len(s.p.Bias) == 0 && !s.p.Penalised() {
		return row
	}
	s.work = append(s.work[:0], row...)
	row = s.work
	for _, b := range s.p.Bias {
		row[b.ID] = round32(float64(row[b.ID]) + float64(b.Add))
	}
	if s.p.Penalised() {
		for i := range h.entries {
			e := &h.entries[i]
			if e.id >= 0 && int(e.id) < len(row) {
				row[e.id] = s.penalise(row[e.id], e)
			}
		}
	}
	// Forbidding comes first in the order of steps; written last it is the same, as minus infinity absorbs the others.
	for _, id := range s.v.holes {
		row[id] = negInf
	}
	if allow != nil {
		forbid(row, allow)
	}
	return row
}

// penalise applies steps 3 and 4 to one id's logit.
func (s *Sampler) penalise(x float32, e *entry) float32 {
	l := float64(x)
	if l > 0 {
		l /= s.p.Repetition
	} else {
		l = float64(l * s.p.Repetition)
	}
	if e.count > 0 {
		l -= s.p.Presence
		l -= float64(s.p.Frequency * float64(e.count))
	}
	return round32(l)
}

// forbid sets the ids whose bit in allow is 0 to minus infinity.
func forbid(row []float32, allow []uint64) {
	for w := 0; w*64 < len(row); w++ {
		part := row[w*64 : min(w*64+64, len(row))]
		switch bits := allow[w]; bits {
		case math.MaxUint64:
		case 0:
			for i := range part {
				part[i] = negInf
			}
		default:
			for i := range part {
				if bits>>i&1 == 0 {
					part[i] = negInf
				}
			}
		}
	}
}

// round32 rounds to float32 and keeps the result finite: a wild penalty must not turn a token into a forbidden one.
func round32(x float64) float32 {
	return float32(max(-math.MaxFloat32, min(math.MaxFloat32, x)))
}

package sample

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// FuzzSample feeds any parameters and any bits as a row: valid parameters never panic, give an allowed token equal to the twin's, or a typed error.
func FuzzSample(f *testing.F) {
	f.Add(1.0, 0, 1.0, 0.0, 0.0, 0.0, 1.0, uint64(1), uint64(math.MaxUint64), []byte("some logits, sixteen bytes each"))
	f.Add(0.0, 3, 0.5, 0.1, 1.0, -1.0, 1.3, uint64(9), uint64(0b1011), []byte{0, 0, 128, 63, 0, 0, 128, 63, 0, 0, 0, 128, 0, 0, 0, 0})
	f.Add(1e-300, 70, 5e-324, 5e-324, 2.0, 2.0, 1e300, uint64(0), uint64(0), []byte{255, 255, 127, 127, 255, 255, 127, 255, 1, 0, 0, 0})
	f.Add(1.0, 1, 1.0, 1.0, 0.0, 0.0, 1.0, uint64(3), uint64(7), []byte{0, 0, 128, 127, 0, 0, 192, 127})
	f.Fuzz(func(t *testing.T, temp float64, k int, topP, minP, presence, frequency, repetition float64, seed, allowed uint64, raw []byte) {
		p := Params{Temperature: temp, TopK: k, TopP: topP, MinP: minP, Presence: presence, Frequency: frequency, Repetition: repetition, Seed: seed, Logprobs: true}
		if p.Validate() != nil || len(raw) < 4 || len(raw) > 4*200 {
			return
		}
		row := make([]float32, len(raw)/4)
		finite := true
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			finite = finite && row[i]-row[i] == 0
		}
		v := NewVocab(len(row), func(id int32) bool { return id%5 != 4 })
		allow := make([]uint64, v.Words())
		for i := range allow {
			allow[i] = allowed
		}
		prompt, output := []int32{0, 3}, []int32{1, 1, 250, -7}
		h := NewHistory(prompt, p)
		for _, id := range output {
			h.Push(id)
		}
		s := New(p, v)
		tok, err := s.SampleAllowed(row, 5, h, allow)
		if !finite {
			if !errors.Is(err, ErrNotFinite) {
				t.Fatalf("error %v, want ErrNotFinite", err)
			}
			return
		}
		cands := twinFilter(p, v, row, prompt, output, allow)
		if len(cands) == 0 {
			if !errors.Is(err, ErrNoCandidate) {
				t.Fatalf("error %v, want ErrNoCandidate", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := twinSample(p, cands, 5); tok.ID != want {
			t.Fatalf("token %d, want %d of %v", tok.ID, want, cands)
		}
		if math.IsNaN(tok.Logprob) || tok.Logprob > 1e-12 {
			t.Fatalf("logprob %v", tok.Logprob)
		}
		d, err := s.DistAllowed(row, 5, h, allow)
		if err != nil || len(d.IDs) != len(cands) {
			t.Fatalf("%d candidates (%v), want %d", len(d.IDs), err, len(cands))
		}
		sum := 0.0
		for _, x := range d.P {
			sum += x
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities sum to %v", sum)
		}
	})
}

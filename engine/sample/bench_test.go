package sample

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSample times one row. Logits are normal with spread 4, wider in entropy than most of a real model's rows.
func BenchmarkSample(b *testing.B) {
	for _, vocab := range []int{8192, 248320} {
		row := gaussianRow(rand.New(rand.NewPCG(1, 1)), vocab, 4)
		for _, c := range []struct {
			name string
			p    Params
		}{
			{"greedy", Params{TopP: 1, Repetition: 1}},
			{"greedy+logprob", Params{TopP: 1, Repetition: 1, Logprobs: true}},
			{"topk20+topp", Params{Temperature: 1, TopK: 20, TopP: 0.95, Repetition: 1}},
			{"topk64", Params{Temperature: 1, TopK: 64, TopP: 1, Repetition: 1}},
			{"topk65", Params{Temperature: 1, TopK: 65, TopP: 1, Repetition: 1}},
			{"topp", Params{Temperature: 1, TopP: 0.95, Repetition: 1}},
			{"full", Params{Temperature: 1, TopP: 1, Repetition: 1}},
		} {
			b.Run(fmt.Sprintf("vocab=%d/mode=%s", vocab, c.name), func(b *testing.B) {
				s := New(c.p, NewVocab(vocab, nil))
				pos := 0
				b.SetBytes(int64(4 * vocab))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Sample(row, pos, nil); err != nil {
						b.Fatal(err)
					}
					pos++
				}
			})
		}
	}
}

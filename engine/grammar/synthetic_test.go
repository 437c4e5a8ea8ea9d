package grammar

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// syllables is a vocabulary of the released model's size: all bytes, then words with and without a space, in several scripts (some cut inside a character), punctuation
// as code has it, runs of white space, and the tags at the end.
type syllables struct {
	pieces [][]byte
	tags   map[string]int32
}

func (s *syllables) Size() int             { return len(s.pieces) }
func (s *syllables) Known(id int32) bool   { return id >= 0 && int(id) < len(s.pieces) }
func (s *syllables) Added(id int32) bool   { return int(id) >= len(s.pieces)-len(s.tags) }
func (s *syllables) Piece(id int32) []byte { return s.pieces[id] }
func (s *syllables) ID(t string) (int32, bool) {
	id, ok := s.tags[t]
	return id, ok
}

var released = sync.OnceValues(func() (*syllables, *Vocab) {
	const size = 248320
	r := rand.New(rand.NewPCG(1, 2))
	s := &syllables{tags: map[string]int32{}}
	seen := map[string]bool{}
	add := func(p string) {
		if !seen[p] && len(s.pieces) < size-4 {
			seen[p] = true
			s.pieces = append(s.pieces, []byte(p))
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for n := 2; n <= 128; n++ {
		add(fmt.Sprintf("%*s", n, ""))
	}
	latin := []string{"a", "e", "i", "o", "u", "st", "r", "n", "t", "l", "d", "ing", "er", "con", "pro", "m", "p", "B", "S", "é"}
	marks := []string{`"`, `":`, `",`, `"}`, `\`, `\n`, "\n", "\n\n", "\t", "  ", "{", "}", "[", "]", "(", ")", ";", "//", "<", ">", "</", "=", "--", "'", "_"}
	for len(s.pieces) < size-4 {
		p := ""
		switch k := r.IntN(100); {
		case k < 60: // words
			if r.IntN(2) == 0 {
				p = " "
			}
			for range 1 + r.IntN(6) {
				p += latin[r.IntN(len(latin))]
			}
		case k < 85: // other scripts
			for range 1 + r.IntN(4) {
				p += string(rune([]int{0x4E00, 0x0430, 0x0E01, 0xAC00, 0x0627}[r.IntN(5)] + r.IntN(64)))
			}
			if r.IntN(8) == 0 {
				p = p[:len(p)-1]
			}
		default: // code
			for range 1 + r.IntN(4) {
				p += marks[r.IntN(len(marks))]
				if r.IntN(3) == 0 {
					p += latin[r.IntN(len(latin))]
				}
			}
		}
		add(p)
	}
	for _, t := range []string{"<|im_end|>", "<tool_call>", "</tool_call>", "</think>"} {
		s.tags[t] = int32(len(s.pieces))
		s.pieces = append(s.pieces, []byte(t))
	}
	v, err := NewVocab(s, size)
	if err != nil {
		panic(err)
	}
	return s, v
})

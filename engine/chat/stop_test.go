package chat

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// stopRef finds the stop string that ends first, the longest of those, by trying every place.
func stopRef(words []string, text string) (out, found string) {
	for end := 1; end <= len(text); end++ {
		for _, w := range words {
			if w != "" && strings.HasSuffix(text[:end], w) && len(w) > len(found) {
				found = w
			}
		}
		if found != "" {
			return text[:end-len(found)], found
		}
	}
	return text, ""
}

func TestStopperEqualsReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		b := make([]byte, rng.IntN(n))
		for i := range b {
			b[i] = "ab\n"[rng.IntN(3)]
		}
		return string(b)
	}
	for round := range 3000 {
		words := []string{word(5), word(7), word(4)}
		text := word(30)
		want, wantFound := stopRef(words, text)
		s := newStopper(words)
		var got, found string
		for rest := text; rest != "" && found == ""; {
			n := 1 + rng.IntN(len(rest))
			var out string
			out, found = s.feed(rest[:n])
			got += out
			rest = rest[n:]
		}
		if found == "" {
			got += s.release()
		}
		if got != want || found != wantFound {
			t.Fatalf("round %d: %q in %q: got %q, %q, want %q, %q", round, words, text, got, found, want, wantFound)
		}
	}
}

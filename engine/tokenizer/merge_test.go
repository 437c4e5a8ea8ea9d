package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// mergeRef is the definition: take the lowest rank, leftmost first, again and again.
func mergeRef(m *merger, word string) []int32 {
	ids := make([]int32, len(word))
	for i := range ids {
		ids[i] = m.bytes[word[i]]
	}
	for {
		best, at := noRank, -1
		for i := range len(ids) - 1 {
			if r := m.rank(ids[i], ids[i+1]); r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, int32(uint32(best)))
	}
}

func TestMergesEqualReference(t *testing.T) {
	tok := nano(t)
	rng := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "aa", "the", "return", "er", " ", "func", "\n", "\t", "err", "日", "{", "0", "Println", "ing"}
	for round := range 400 {
		var b strings.Builder
		for b.Len() < 1+rng.IntN(2*shortWord) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		word := b.String()
		want := mergeRef(tok.bpe, word)
		if got := tok.bpe.heap(nil, word); !slices.Equal(got, want) {
			t.Fatalf("round %d: heap(%q) = %v, want %v", round, word, got, want)
		}
		if len(word) <= shortWord {
			if got := tok.bpe.scan(nil, word); !slices.Equal(got, want) {
				t.Fatalf("round %d: scan(%q) = %v, want %v", round, word, got, want)
			}
		}
		for range 2 { // the second time from the cache
			if got := tok.bpe.encode(nil, word); !slices.Equal(got, want) {
				t.Fatalf("round %d: encode(%q) = %v, want %v", round, word, got, want)
			}
		}
	}
}

// TestAdversarialIsNearLinear feeds inputs that make naive tokenizers quadratic. The limit is far above what n log n needs and
// far below what n squared would (minutes).
func TestAdversarialIsNearLinear(t *testing.T) {
	tok := nano(t)
	const n = 1 << 20
	for name, text := range map[string]string{
		"one letter":  strings.Repeat("a", n),
		"spaces":      strings.Repeat(" ", n),
		"punctuation": strings.Repeat("=", n),
		"newlines":    strings.Repeat("\n", n),
		"tag starts":  strings.Repeat("<|im_", n/5),
		"marks":       "e" + strings.Repeat("\u0301", n/8),
		"mixed marks": "e" + strings.Repeat("\u0301\u0323", n/16),
		"words":       strings.Repeat("ab c ", n/5),
		"bad bytes":   strings.Repeat("\xe6\x97", n/2),
	} {
		start := time.Now()
		ids := encode(t, tok, text)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(text), took)
		} else {
			t.Logf("%s: %d bytes, %d ids in %v", name, len(text), len(ids), took)
		}
		if got := tok.Decode(ids, false); got != strings.ToValidUTF8(got, "?") || len(got) < len(text)/8 {
			t.Errorf("%s: decoded to %d bytes", name, len(got))
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	for i := range 4 * cacheShards * cacheEntries {
		c.put(strings.Repeat("x", i%cacheWord)+string(rune(0x4E00+i%20000))+string(rune(0x4E00+i/20000)), []int32{int32(i)})
	}
	if got, limit := c.entries(), 2*cacheShards*(cacheEntries+1); got > limit || got == 0 {
		t.Errorf("cache holds %d words, limit %d", got, limit)
	}
	c.put(strings.Repeat("y", cacheWord+1), []int32{1})
	if _, ok := c.get(strings.Repeat("y", cacheWord+1)); ok {
		t.Error("a long word was kept")
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := nano(b)
	text := strings.Repeat("func (s *Stream) Push(id int32) string {\n\tif s.t.Special(id) {\n\t\treturn \"\"\n\t}\n}\n// Naïve café, 日本語.\n", 200)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		encode(b, tok, text)
	}
}

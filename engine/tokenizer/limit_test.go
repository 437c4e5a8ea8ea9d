package tokenizer

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestEncodeAtMost: the same ids as Encode when they fit, a refusal as soon as they cannot.
func TestEncodeAtMost(t *testing.T) {
	tok := nano(t)
	texts := []string{"", "a", "<|im_start|>user\nhello there<|im_end|>", strings.Repeat("word ", 300), strings.Repeat("a", 5000), "e\u0301" + strings.Repeat("\u0301", 40)}
	for _, text := range texts {
		for _, special := range []bool{true, false} {
			want, err := tok.encode(text, special, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{len(want), len(want) + 1, 1 << 20} {
				if got, err := tok.EncodeAtMost(text, limit, special); err != nil || !slices.Equal(got, want) {
					t.Errorf("%.20q at most %d: got %d ids, %v, want %d", text, limit, len(got), err, len(want))
				}
			}
			if len(want) > 0 {
				if _, err := tok.EncodeAtMost(text, len(want)-1, special); !errors.Is(err, ErrTooLong) {
					t.Errorf("%.20q at most %d: got %v, want ErrTooLong", text, len(want)-1, err)
				}
			}
		}
	}
}

// TestHugeTextCostsNothing: 64 MB that cannot fit allocate next to nothing.
func TestHugeTextCostsNothing(t *testing.T) {
	tok := nano(t)
	text := strings.Repeat("a", 64<<20)
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := tok.EncodeAtMost(text, 4096, true); !errors.Is(err, ErrTooLong) {
			t.Fatalf("got %v, want ErrTooLong", err)
		}
	})
	if allocs > 100 {
		t.Errorf("got %v allocations, want a refusal before any work", allocs)
	}
}

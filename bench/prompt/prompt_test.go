package prompt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashlane/flashlane/bench/prompt"
)

// counter takes words of up to letters letters for one token and longer ones for more, behind a template of its own.
func counter(letters, template int) prompt.Counter {
	return func(_ context.Context, text string) (int, error) {
		n := template
		for _, w := range strings.Fields(text) {
			n += (len(w) + letters - 1) / letters
		}
		return n, nil
	}
}

func TestMakeHitsTheLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := counter(rapid.IntRange(2, 9).Draw(t, "letters"), rapid.IntRange(0, 30).Draw(t, "template"))
		s := prompt.Spec{Seed: rapid.Uint64().Draw(t, "seed"), Shared: rapid.Float64Range(0, 1).Draw(t, "shared")}
		s.Tokens = rapid.IntRange(31, 5000).Draw(t, "tokens")
		text, err := prompt.Make(context.Background(), count, s)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := count(context.Background(), text); got != s.Tokens {
			t.Fatalf("got %d tokens, want %d", got, s.Tokens)
		}
	})
}

func TestMakeAsksRarely(t *testing.T) {
	calls := 0
	count := counter(5, 12)
	_, err := prompt.Make(context.Background(), func(ctx context.Context, text string) (int, error) {
		calls++
		return count(ctx, text)
	}, prompt.Spec{Tokens: 16384, Seed: 1})
	if err != nil || calls > 12 {
		t.Errorf("got %d counts and error %v for 16384 tokens, want at most 12", calls, err)
	}
}

func TestSharedBeginning(t *testing.T) {
	make := func(seed, common uint64, shared float64) string {
		text, err := prompt.Make(context.Background(), counter(99, 0), prompt.Spec{Tokens: 1001, Seed: seed, Common: common, Shared: shared})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	equal := func(a, b string) int { // words
		x, y := strings.Fields(a), strings.Fields(b)
		n := 0
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		return n
	}
	if a, b := make(1, 7, 0.5), make(1, 7, 0.5); a != b {
		t.Error("the same seeds gave different prompts")
	}
	if got := equal(make(1, 7, 0.5), make(2, 7, 0.5)); got < 490 || got > 510 {
		t.Errorf("half shared: got %d equal words of 1001, want about 500", got)
	}
	if got := equal(make(1, 7, 0), make(2, 7, 0)); got > 4 {
		t.Errorf("nothing shared: got %d equal words", got)
	}
	if got := equal(make(1, 7, 0.5), make(1, 8, 0.5)); got > 4 {
		t.Errorf("other common seed: got %d equal words", got)
	}
}

func TestMakeRefuses(t *testing.T) {
	ctx := context.Background()
	if _, err := prompt.Make(ctx, counter(5, 12), prompt.Spec{Tokens: 12}); !errors.Is(err, prompt.ErrLength) {
		t.Errorf("shorter than the template: got %v", err)
	}
	if _, err := prompt.Make(ctx, counter(5, 12), prompt.Spec{Tokens: 100, Shared: 1.5}); !errors.Is(err, prompt.ErrLength) {
		t.Errorf("shared 1.5: got %v", err)
	}
	never := func(context.Context, string) (int, error) { return 7, nil }
	if _, err := prompt.Make(ctx, never, prompt.Spec{Tokens: 100}); !errors.Is(err, prompt.ErrLength) {
		t.Errorf("a counter that does not count: got %v", err)
	}
	broken := errors.New("broken")
	if _, err := prompt.Make(ctx, func(context.Context, string) (int, error) { return 0, broken }, prompt.Spec{Tokens: 9}); !errors.Is(err, broken) {
		t.Errorf("broken counter: got %v", err)
	}
}

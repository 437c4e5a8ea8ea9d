package prompt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// ErrLength is wrapped when a prompt of the wanted length cannot be made.
var ErrLength = errors.New("prompt: no prompt of that length")

// Counter counts the tokens of a templated prompt with one user message.
type Counter func(ctx context.Context, text string) (int, error)

// Spec is a prompt that is wanted.
type Spec struct {
	Tokens int     // templated
	Seed   uint64  // of the words
	Shared float64 // share of the prompt (0 to 1), from its beginning, that is common to all prompts of the same Common seed
	Common uint64
}

// filler is one word that any tokenizer of the family has as one token.
const filler = " to"

// Make writes the prompt. It asks count a few times; its last answer is Spec.Tokens.
func Make(ctx context.Context, count Counter, s Spec) (string, error) {
	if s.Shared < 0 || s.Shared > 1 {
		return "", fmt.Errorf("%w: shared part %v, want 0 to 1", ErrLength, s.Shared)
	}
	least, err := count(ctx, "to")
	if err != nil {
		return "", err
	}
	if s.Tokens < least {
		return "", fmt.Errorf("%w: got %d tokens, want at least %d: the chat template alone takes nearly as many", ErrLength, s.Tokens, least)
	}
	rest := s.Tokens - least
	w := writer{common: rng(s.Common, 1), own: rng(s.Seed, 2), shared: int(s.Shared * float64(rest))}
	fill, over := 0, false
	for range 50 {
		text := "to" + w.text.String() + strings.Repeat(filler, fill)
		n, err := count(ctx, text)
		if err != nil {
			return "", err
		}
		switch missing := s.Tokens - n; {
		case missing == 0:
			return text, nil
		case missing < 0 && fill > 0:
			fill = max(0, fill+missing)
		case missing < 0:
			w.cut(-missing, n-least)
			over = true // no more words after this, or it could go on like that
		case missing > 8 && fill == 0 && !over:
			w.add(missing*7/8, n-least)
		default:
			fill += missing
		}
	}
	return "", fmt.Errorf("%w: %d tokens were not hit exactly", ErrLength, s.Tokens)
}

func rng(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// writer appends words, first of the common stream, then of its own.
type writer struct {
	common, own *rand.Rand
	shared      int // tokens that are to be of the common stream
	text        strings.Builder
	words       int
}

// add appends words of about n tokens to a text of so many.
func (w *writer) add(n, tokens int) {
	per := w.per(tokens)
	for range max(1, int(float64(n)/per)) {
		r := w.own
		if float64(w.words)*per < float64(w.shared) {
			r = w.common
		}
		w.text.WriteString(" " + words[r.IntN(len(words))])
		w.words++
	}
}

// per is how many tokens a word came to so far, at least 1.
func (w *writer) per(tokens int) float64 {
	if w.words == 0 {
		return 1
	}
	return max(1, float64(tokens)/float64(w.words))
}

// cut drops words of at least about n tokens, of a text of so many, from the end.
func (w *writer) cut(n, tokens int) {
	text := w.text.String()
	for range int(float64(n)/w.per(tokens)) + 1 {
		at := strings.LastIndexByte(text, ' ')
		if at < 0 {
			break
		}
		text = text[:at]
		w.words--
	}
	w.text.Reset()
	w.text.WriteString(text)
}

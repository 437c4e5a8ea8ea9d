package sample

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFinite is wrapped when a row of logits holds NaN or an infinity. It fails the request, not the process.
	ErrNotFinite = errors.New("logit is not finite")
	// ErrRow is wrapped when a row of logits or a bitset has not the vocabulary's size.
	ErrRow = errors.New("wrong row length")
	// ErrNoCandidate is wrapped when no id may be sampled: the tokenizer knows none or the bitset allows none of those it knows.
	ErrNoCandidate = errors.New("no token is allowed")
	// ErrNoHistory is wrapped when penalties are on and the History is nil or was made for other penalties: dropping them silently is not an option.
	ErrNoHistory = errors.New("penalties need the request's history")
)

func rowError(pos, got, want int, what string) error {
	return fmt.Errorf("sample: position %d: %w: %s has %d entries, want %d", pos, ErrRow, what, got, want)
}

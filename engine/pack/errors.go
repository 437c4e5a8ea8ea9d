package pack

import (
	"errors"
	"fmt"
)

// What callers branch on. Every error of this package that a pack's content can cause wraps one of the three.
var (
	// ErrCorrupt: bytes that contradict themselves or config.json (bad header, overlap, wrong shape, wrong JSON type).
	ErrCorrupt = errors.New("pack: corrupt")
	// ErrMissing: a file, tensor or config field that the model needs is not there.
	ErrMissing = errors.New("pack: missing")
	// ErrUnsupported: well-formed, but nothing this engine can run (dtype, bits, rope type, another architecture).
	ErrUnsupported = errors.New("pack: unsupported")
)

// fault is an error with one of the sentinels behind it: its text is the message alone, so that it reads as one sentence.
type fault struct {
	kind  error
	text  string
	under error
}

func (f *fault) Error() string { return f.text }

func (f *fault) Unwrap() []error {
	if f.under == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.under}
}

func corrupt(format string, args ...any) error {
	return &fault{kind: ErrCorrupt, text: fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) error {
	return &fault{kind: ErrMissing, text: fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return &fault{kind: ErrUnsupported, text: fmt.Sprintf(format, args...)}
}

// named puts the pack's name in front of err.
func named(pack string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pack %s: %w", pack, err)
}

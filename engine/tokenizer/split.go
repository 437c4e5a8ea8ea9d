package tokenizer

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// splitter cuts text into the words that merges may not cross. emit gets every byte of the text once, in order, plus what a
// prefix-space rule adds.
type splitter interface {
	split(text string, emit func(string)) error
}

// patternGPT2 is what a ByteLevel pre-tokenizer with use_regex splits by.
const patternGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// matchLimit bounds the general engine: a pattern that back-tracks without end must not hold a request.
const matchLimit = 5 * time.Second

// newSplitter picks the scanner for a pattern it knows, else the general engine.
func newSplitter(pattern string) (splitter, error) {
	switch pattern {
	case patternQwen2:
		return scanner{}, nil
	case patternQwen35:
		return scanner{marks: true}, nil
	}
	return newRegex(pattern)
}

// regex splits by a general back-tracking engine, "isolated": matches are words, and so is what lies between them.
type regex struct{ re *regexp2.Regexp }

func newRegex(pattern string) (regex, error) {
	re, err := regexp2.Compile(pattern)
	if err != nil {
		return regex{}, fmt.Errorf("tokenizer: pre_tokenizer pattern %q: %w: %w", pattern, ErrUnsupported, err)
	}
	re.MatchTimeout = matchLimit
	return regex{re}, nil
}

func (r regex) split(text string, emit func(string)) error {
	// The engine works on runes: bytes that are not UTF-8 would shift the indices that come back.
	text = strings.ToValidUTF8(text, "\uFFFD")
	spans, err := r.re.FindAllStringIndex(text, -1)
	if err != nil {
		return err
	}
	at := 0
	for _, s := range spans {
		if s[0] > at {
			emit(text[at:s[0]])
		}
		if s[1] > s[0] {
			emit(text[s[0]:s[1]])
		}
		at = max(at, s[1])
	}
	if at < len(text) {
		emit(text[at:])
	}
	return nil
}

// chain runs one splitter after another, each over the words of the one before.
type chain []splitter

func (c chain) split(text string, emit func(string)) error {
	if len(c) == 0 {
		if text != "" {
			emit(text)
		}
		return nil
	}
	var inner error
	err := c[0].split(text, func(word string) {
		if inner == nil {
			inner = c[1:].split(word, emit)
		}
	})
	if err != nil {
		return err
	}
	return inner
}

// spaced puts a space before each piece that does not begin with one (ByteLevel's add_prefix_space).
type spaced struct{}

func (spaced) split(text string, emit func(string)) error {
	switch {
	case text == "":
	case text[0] == ' ':
		emit(text)
	default:
		emit(" " + text)
	}
	return nil
}

package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what the split patterns ask of a character. Exactly one holds for each.
type class uint8

const (
	other   class = iota // punctuation, symbols, control characters, bytes that are not UTF-8
	letter               // \p{L}
	mark                 // \p{M}
	number               // \p{N}
	space                // \s without the line ends
	newline              // \r and \n
)

// classes tables the class of every character of the basic plane; it is a constant that is cheaper to compute than to store.
var classes = sync.OnceValue(func() *[1 << 16]class {
	t := new([1 << 16]class)
	for r := range rune(1 << 16) {
		t[r] = classify(r)
	}
	return t
})

func classify(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// classAt is the class and width of the character at s[i:], which must not be empty.
func classAt(t *[1 << 16]class, s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return t[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == utf8.RuneError && n == 1:
		return other, 1
	case r < 1<<16:
		return t[r], n
	}
	return classify(r), n
}

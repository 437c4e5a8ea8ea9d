package tokenizer

import (
	"errors"
	"fmt"
)

// ErrTooLong is returned (wrapped) by EncodeAtMost for text that has more tokens than asked for.
var ErrTooLong = errors.New("tokenizer: text has too many tokens")

// shrink bounds how much shorter normalisation makes text: composed, a character takes at least a third of its bytes.
const shrink = 3

// large is the size from which EncodeAtMost takes one text at a time: each needs many times its size in memory meanwhile.
const large = 1 << 18

// EncodeAtMost is Encode, or EncodeOrdinary when special is false, for text that may have at most limit tokens. Longer text is
// refused without the work, and memory, of tokenising all of it: as soon as the bytes left must make too many tokens even
// if each were the longest there is, or as soon as there are too many.
func (t *Tokenizer) EncodeAtMost(text string, limit int, special bool) ([]int32, error) {
	longest := t.longestPiece()
	if least := len(text) / (longest * shrink); least > limit {
		return nil, fmt.Errorf("%w: %d bytes are at least %d, want at most %d", ErrTooLong, len(text), least, limit)
	}
	if len(text) >= large {
		t.large.Lock()
		defer t.large.Unlock()
	}
	b := &budget{limit: limit, longest: longest}
	out, err := t.encode(text, special, b)
	if err != nil {
		return nil, err
	}
	if b.spent || len(out) > limit {
		return nil, fmt.Errorf("%w: want at most %d", ErrTooLong, limit)
	}
	return out, nil
}

// budget is how many tokens a text may have. nil: any number.
type budget struct {
	limit, longest int
	spent          bool
}

// take reports whether word may be encoded after have tokens.
func (b *budget) take(have int, word string) bool {
	if b == nil {
		return true
	}
	if have+len(word)/b.longest > b.limit {
		b.spent = true
	}
	return !b.spent
}

// longestPiece is the bytes of the longest token.
func (t *Tokenizer) longestPiece() int {
	t.longestOnce.Do(func() {
		t.longest = 1
		for _, p := range t.pieces {
			t.longest = max(t.longest, len(p))
		}
	})
	return t.longest
}

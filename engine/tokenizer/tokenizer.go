package tokenizer

import (
	"errors"
	"fmt"
	"sync"
)

// ErrUnsupported marks a tokenizer.json that asks for something this package does not do.
var ErrUnsupported = errors.New("unsupported tokenizer feature")

// ErrCorrupt marks a tokenizer.json that contradicts itself or cannot be read.
var ErrCorrupt = errors.New("corrupt tokenizer file")

// Tokenizer encodes and decodes with one pack's vocabulary. It is immutable apart from its bounded word cache, and safe for
// concurrent use.
type Tokenizer struct {
	pieces  [][]byte         // raw bytes by id, nil where no token has the id
	ids     map[string]int32 // token string as the file writes it -> id
	flags   map[int32]tokenFlag
	raw     *matcher // added tokens found in the text as it is
	normed  *matcher // added tokens found after normalisation
	nfc     bool
	split   splitter
	bpe     *merger
	named   map[string]string // eos_token, bos_token ... of tokenizer_config.json
	ordered []int32           // added ids, ascending: for diagnostics

	longestOnce sync.Once
	longest     int // bytes of the longest token
	large       sync.Mutex
}

type tokenFlag uint8

const (
	flagAdded tokenFlag = 1 << iota
	flagSpecial
)

// Encode gives the ids of text; added tokens written in it (<|im_start|>, <think> ...) become their own ids, as in the reference
// implementation. Bytes that are not UTF-8 are encoded byte for byte. The error is non-nil only for a pack whose split pattern
// runs on the general regular-expression engine, when that exceeds its time limit.
func (t *Tokenizer) Encode(text string) ([]int32, error) { return t.encode(text, true, nil) }

func (t *Tokenizer) encode(text string, special bool, b *budget) ([]int32, error) {
	if !special {
		return t.encodePlain(nil, t.normalize(text), b)
	}
	// Two nested cuts: tokens matched in the raw text, then, between those and after normalisation, the others.
	var out []int32
	err := t.raw.cut(text, func(piece string, id int32) error {
		if id >= 0 {
			out = append(out, id)
			return nil
		}
		return t.normed.cut(t.normalize(piece), func(piece string, id int32) error {
			if id >= 0 {
				out = append(out, id)
				return nil
			}
			var err error
			out, err = t.encodePlain(out, piece, b)
			return err
		})
	})
	return out, err
}

// EncodeOrdinary is Encode for text in which no added token is to be recognised: "<|im_end|>" is then plain characters.
func (t *Tokenizer) EncodeOrdinary(text string) ([]int32, error) {
	return t.encode(text, false, nil)
}

// encodePlain appends the ids of normalised text without added tokens.
func (t *Tokenizer) encodePlain(out []int32, text string, b *budget) ([]int32, error) {
	err := t.split.split(text, func(word string) {
		if b.take(len(out), word) {
			out = t.bpe.encode(out, word)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("tokenizer: splitting %d bytes of text: %w", len(text), err)
	}
	return out, nil
}

// Piece is the bytes of one token, nil for an id without a token. The caller must not change them.
func (t *Tokenizer) Piece(id int32) []byte {
	if !t.Known(id) {
		return nil
	}
	return t.pieces[id]
}

// Size is 1 + the highest id that has a token. The model may have more rows; those are never to be sampled.
func (t *Tokenizer) Size() int { return len(t.pieces) }

// Known tells whether the id has a token. Ids without one are forbidden in sampling (design, section 4).
func (t *Tokenizer) Known(id int32) bool {
	return id >= 0 && int(id) < len(t.pieces) && t.pieces[id] != nil
}

// ID finds a token by its string as the file writes it: the content of an added token, or a vocabulary entry in the byte-level
// alphabet.
func (t *Tokenizer) ID(token string) (int32, bool) {
	id, ok := t.ids[token]
	return id, ok
}

// Special tells whether the id is an added token flagged special: such tokens are left out of text.
func (t *Tokenizer) Special(id int32) bool { return t.flags[id]&flagSpecial != 0 }

// Added tells whether the id is an added token, special or not (<think> and <tool_call> are added and not special).
func (t *Tokenizer) Added(id int32) bool { return t.flags[id]&flagAdded != 0 }

// AddedIDs lists the ids of all added tokens in ascending order.
func (t *Tokenizer) AddedIDs() []int32 { return append([]int32(nil), t.ordered...) }

// Named gives a token that tokenizer_config.json names by role: "eos_token", "bos_token", "pad_token", "unk_token". False when the
// role is absent or null.
func (t *Tokenizer) Named(role string) (string, bool) {
	s, ok := t.named[role]
	return s, ok
}

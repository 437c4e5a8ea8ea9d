package grammar

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Tokens is what a vocabulary is made from. *tokenizer.Tokenizer is one.
type Tokens interface {
	Size() int             // 1 + the highest id
	Known(id int32) bool   // whether the id has a token
	Added(id int32) bool   // whether it is an added token: it stands for more than its bytes
	Piece(id int32) []byte // its bytes
	ID(token string) (id int32, ok bool)
}

// Vocab is a model's vocabulary, made ready for masks. It lives as long as the model, is immutable and safe for concurrent use.
type Vocab struct {
	words  int
	size   int
	pieces [][]byte // by id; nil for ids without a token and for added tokens
	tokens Tokens
	all    *trie
	quoted class // inside a JSON string
	plain  class // inside raw text
	reach  uint32
	opens  uint8 // brackets that one token may open, at most 100
}

// class sorts the tokens for a wide state: those that never leave it and cost only their length, and the rest.
type class struct {
	rest *trie
	upTo [longCount + 1][]uint64 // tokens of at most so many code points; the last: of any number
	long []counted               // of longCount and more, ascending
}

type counted struct {
	id    int32
	count uint32
}

const longCount = 16

// NewVocab prepares the tokens of a model with size rows of logits. It takes time linear in their bytes (well below a second for 248,320 ids). Added tokens take part only
// as the tags that a grammar names. The error wraps ErrVocab: some byte of UTF-8 has no token, so that not every document could be written.
func NewVocab(t Tokens, size int) (*Vocab, error) {
	v := &Vocab{words: (size + 63) / 64, size: size, tokens: t, pieces: make([][]byte, min(size, t.Size()))}
	var ids, inQuotes, outQuotes, inPlain, outPlain []int32
	var single [256]bool
	for i := range v.pieces {
		id := int32(i)
		if !t.Known(id) || t.Added(id) {
			continue
		}
		p := t.Piece(id)
		if len(p) == 0 || len(p) > 1<<16-1 {
			continue
		}
		v.pieces[i], ids = p, append(ids, id)
		v.reach = max(v.reach, uint32(len(p)))
		if len(p) == 1 {
			single[p[0]] = true
		}
		opens := uint8(0)
		quoted, plain := true, true
		phase := uint8(0)
		for _, b := range p {
			if (b == '{' || b == '[') && opens < 100 {
				opens++
			}
			quoted = quoted && b >= 0x20 && b != '"' && b != '\\'
			plain = plain && b != '\n' && b != '<' && b != '>'
			var ok bool
			if phase, ok = utf8Step(phase, b); !ok {
				quoted, plain = false, false
				break
			}
		}
		whole := phase == 0
		quoted = quoted && !bytes.Contains(p, []byte(rawClose))
		v.opens = max(v.opens, opens)
		if quoted && whole {
			inQuotes = append(inQuotes, id)
		} else {
			outQuotes = append(outQuotes, id)
		}
		if plain && whole {
			inPlain = append(inPlain, id)
		} else {
			outPlain = append(outPlain, id)
		}
	}
	for b := range 256 {
		if _, ok := utf8Step(0, byte(b)); (ok && b >= 0x20 || b == '\n' || b >= 0x80 && b < 0xC0) && !single[b] {
			return nil, fmt.Errorf("grammar: %w: no token is the byte %#02x alone; constrained decoding needs a byte-level vocabulary", ErrVocab, b)
		}
	}
	v.all = newTrie(ids, v.piece)
	v.quoted, v.plain = v.class(inQuotes, outQuotes), v.class(inPlain, outPlain)
	return v, nil
}

// Words is the length of a mask, in 64-bit words: that of sample.Vocab for the same number of logits.
func (v *Vocab) Words() int { return v.words }

func (v *Vocab) piece(id int32) []byte { return v.pieces[id] }

func (v *Vocab) class(in, out []int32) class {
	c := class{rest: newTrie(out, v.piece)}
	for i := range c.upTo {
		c.upTo[i] = make([]uint64, v.words)
	}
	for _, id := range in {
		n := uint32(0)
		for _, b := range v.pieces[id] {
			if b < 0x80 || b >= 0xC0 {
				n++
			}
		}
		if n >= longCount {
			c.long = append(c.long, counted{id, n})
		}
		for i := min(n, longCount); i <= longCount; i++ {
			setBit(c.upTo[i], id)
		}
	}
	slices.SortFunc(c.long, func(a, b counted) int { return cmp.Compare(a.count, b.count) })
	return c
}

// fill sets the plain tokens of at most n code points.
func (c *class) fill(dst []uint64, n uint32) {
	if n >= longCount && (len(c.long) == 0 || n >= c.long[len(c.long)-1].count) {
		copy(dst, c.upTo[longCount])
		return
	}
	copy(dst, c.upTo[min(n, longCount-1)])
	for _, e := range c.long {
		if e.count > n {
			break
		}
		setBit(dst, e.id)
	}
}

func setBit(set []uint64, id int32) { set[id>>6] |= 1 << (id & 63) }

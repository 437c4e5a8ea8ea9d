package sample

import "fmt"

// maxVocab bounds the vocabulary so that top-p's integer mass cannot overflow: 2^24 ids of at most 2^40 each.
const maxVocab = 1 << 24

// Vocab is the set of ids that may be sampled: those below the model's vocabulary size that the tokenizer knows. It lives as long as the
// model, is immutable, and is shared by all samplers.
type Vocab struct {
	size  int
	limit int     // 1 + highest known id; rows are cut here, so that a padded tail costs nothing
	holes []int32 // unknown ids below limit, ascending
	known []uint64
}

// NewVocab asks known once for every id below size. known nil means that all ids exist. It panics if size is not from 1 to 2^24, which a pack's checks exclude.
func NewVocab(size int, known func(int32) bool) *Vocab {
	if size < 1 || size > maxVocab {
		panic(fmt.Sprintf("sample: vocabulary size %d, want 1 to %d", size, maxVocab))
	}
	v := &Vocab{size: size, known: make([]uint64, (size+63)/64)}
	for id := range size {
		if known == nil || known(int32(id)) {
			v.known[id/64] |= 1 << (id % 64)
			v.limit = id + 1
		}
	}
	for id := range v.limit {
		if !v.Known(int32(id)) {
			v.holes = append(v.holes, int32(id))
		}
	}
	return v
}

// Size is the length of a row of logits.
func (v *Vocab) Size() int { return v.size }

// Words is the length of a bitset over the vocabulary, in 64-bit words.
func (v *Vocab) Words() int { return len(v.known) }

// Known reports whether id is in the vocabulary and has a token.
func (v *Vocab) Known(id int32) bool {
	return id >= 0 && int(id) < v.size && v.known[id/64]>>(id%64)&1 == 1
}

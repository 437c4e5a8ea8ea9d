package ple

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// ErrGeometry marks n-gram settings that make no table; the field, got and want are in the text.
var ErrGeometry = errors.New("ple: bad n-gram geometry")

// Geometry is the n-gram part of a model's config (spec 1.1). Nothing is tied to a released size.
type Geometry struct {
	Vocab     int    // rows of the embedding; denominator of the multipliers
	NgramSize int    // longest n-gram; orders 2..NgramSize are hashed
	Heads     int    // hash heads per order
	Base      int64  // ngram_vocab_size_base: the first head size is the first prime >= Base
	Divisor   int64  // make_ngram_vocab_size_divisible_by: row padding
	Seed      uint64 // base seed of the multipliers
	EOS       int32  // boundary id: text_config's eos_token_id, the first of a list
	Dim       int    // ple_embed_dim: columns of all heads of one position together
}

// PerRow is the number of table rows one position asks for.
func (g Geometry) PerRow() int { return (g.NgramSize - 1) * g.Heads }

// HeadDim is the width of one table row.
func (g Geometry) HeadDim() int { return g.Dim / g.PerRow() }

// Validate names the first field that does not fit. Errors wrap ErrGeometry.
func (g Geometry) Validate() error {
	bad := func(field string, got any, want string) error {
		return fmt.Errorf("%w: %s: got %v, want %s", ErrGeometry, field, got, want)
	}
	switch {
	case g.Vocab < 2 || int64(g.Vocab) > math.MaxInt32:
		return bad("vocab_size", g.Vocab, "2 to 2^31-1")
	case g.NgramSize < 2 || g.NgramSize > 64:
		return bad("ngram_size", g.NgramSize, "2 to 64")
	case g.Heads < 1 || g.Heads > 1024:
		return bad("heads_per_ngram", g.Heads, "1 to 1024")
	case g.Base < 2 || g.Base > 1<<40:
		return bad("ngram_vocab_size_base", g.Base, "2 to 2^40")
	case g.Divisor < 1 || g.Divisor > 1<<32:
		return bad("make_ngram_vocab_size_divisible_by", g.Divisor, "1 to 2^32")
	case g.EOS < 0:
		return bad("eos_token_id", g.EOS, "a token id")
	case g.Dim < 1 || g.Dim%g.PerRow() != 0:
		return bad("ple_embed_dim", g.Dim, fmt.Sprintf("a positive multiple of (ngram_size-1)*heads_per_ngram = %d", g.PerRow()))
	}
	return nil
}

// Rows is the number of rows of the k-th PLE layer's table with its padding.
func (g Geometry) Rows(k int) (int64, error) {
	c, err := Derive(g, k)
	if err != nil {
		return 0, err
	}
	return c.Rows(g.Divisor), nil
}

// Constants are one PLE layer's hash constants (spec 2.7.1): NgramSize multipliers shared by all orders, and the size
// and first row of every head, order 2 first.
type Constants struct {
	Multipliers []uint64
	Sizes       []int64
	Offsets     []int64
}

// Rows is the table's row count, padded to a multiple of divisor.
func (c Constants) Rows(divisor int64) int64 {
	n := c.Total()
	return (n + divisor - 1) / divisor * divisor
}

// Total is the number of rows that ids can reach.
func (c Constants) Total() int64 {
	last := len(c.Sizes) - 1
	return c.Offsets[last] + c.Sizes[last]
}

// Derive computes the constants of the k-th PLE layer, k from 0 (spec 2.7.1). A later layer has its own seed
// (Seed + 10007*k), the primes run on from the layer before, and offsets start at 0 again: its table is its own.
func Derive(g Geometry, k int) (Constants, error) {
	if err := g.Validate(); err != nil {
		return Constants{}, err
	}
	if k < 0 || k > 1024 {
		return Constants{}, fmt.Errorf("%w: PLE layer index: got %d, want 0 to 1024", ErrGeometry, k)
	}
	const gamma = 0x9E3779B97F4A7C15
	half := uint64(math.MaxInt64) / uint64(g.Vocab) / 2
	base := g.Seed + 10007*uint64(k)
	c := Constants{
		Multipliers: make([]uint64, g.NgramSize),
		Sizes:       make([]int64, g.PerRow()),
		Offsets:     make([]int64, g.PerRow()),
	}
	for j := range c.Multipliers {
		c.Multipliers[j] = 2*(splitMix64(base+gamma*uint64(j+1))%half) + 1
	}
	p := g.Base - 1
	for range k * g.PerRow() {
		p = nextPrime(p)
	}
	var off int64
	for h := range c.Sizes {
		p = nextPrime(p)
		c.Sizes[h], c.Offsets[h] = p, off
		off += p
	}
	return c, nil
}

// Equal compares with the constants a checkpoint ships, and says which one differs. Errors wrap ErrGeometry.
func (c Constants) Equal(shipped Constants) error {
	if len(c.Multipliers) != len(shipped.Multipliers) || len(c.Sizes) != len(shipped.Sizes) || len(c.Offsets) != len(shipped.Offsets) {
		return fmt.Errorf("%w: hash constants: got %d multipliers, %d sizes, %d offsets in the pack, want %d, %d, %d", ErrGeometry,
			len(shipped.Multipliers), len(shipped.Sizes), len(shipped.Offsets), len(c.Multipliers), len(c.Sizes), len(c.Offsets))
	}
	for i, m := range c.Multipliers {
		if shipped.Multipliers[i] != m {
			return fmt.Errorf("%w: layer_multipliers[%d]: got %d in the pack, want %d from its config", ErrGeometry, i, shipped.Multipliers[i], m)
		}
	}
	for h := range c.Sizes {
		if shipped.Sizes[h] != c.Sizes[h] || shipped.Offsets[h] != c.Offsets[h] {
			return fmt.Errorf("%w: head %d: got size %d offset %d in the pack, want %d and %d from its config", ErrGeometry, h,
				shipped.Sizes[h], shipped.Offsets[h], c.Sizes[h], c.Offsets[h])
		}
	}
	return nil
}

// splitMix64 is one output of the SplitMix64 generator at state v.
func splitMix64(v uint64) uint64 {
	v += 0x9E3779B97F4A7C15
	v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
	v = (v ^ v>>27) * 0x94D049BB133111EB
	return v ^ v>>31
}

// nextPrime is the first prime above n. ProbablyPrime(0) is exact below 2^64.
func nextPrime(n int64) int64 {
	var b big.Int
	for n++; !b.SetInt64(n).ProbablyPrime(0); n++ {
	}
	return n
}

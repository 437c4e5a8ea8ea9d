package ple

import "fmt"

// Hash turns tokens into table rows (spec 2.7.2). It is immutable and safe for concurrent use.
type Hash struct {
	geometry  Geometry
	constants Constants
}

// NewHash binds constants to a geometry, after checking their counts, that every size is positive and that the heads
// follow one another from row 0. Errors wrap ErrGeometry.
func NewHash(g Geometry, c Constants) (*Hash, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if len(c.Multipliers) != g.NgramSize || len(c.Sizes) != g.PerRow() || len(c.Offsets) != g.PerRow() {
		return nil, fmt.Errorf("%w: hash constants: got %d multipliers, %d sizes, %d offsets, want %d, %d, %d", ErrGeometry,
			len(c.Multipliers), len(c.Sizes), len(c.Offsets), g.NgramSize, g.PerRow(), g.PerRow())
	}
	var off int64
	for h, n := range c.Sizes {
		if n < 1 || n > 1<<48 {
			return nil, fmt.Errorf("%w: head %d: size: got %d, want 1 to 2^48", ErrGeometry, h, n)
		}
		if c.Offsets[h] != off {
			return nil, fmt.Errorf("%w: head %d: offset: got %d, want %d (the sizes before it)", ErrGeometry, h, c.Offsets[h], off)
		}
		off += n
	}
	return &Hash{geometry: g, constants: c}, nil
}

// Geometry is what the hash was made for.
func (h *Hash) Geometry() Geometry { return h.geometry }

// Constants are the hash's constants; not to be changed.
func (h *Hash) Constants() Constants { return h.constants }

// PerRow is the number of ids one position has.
func (h *Hash) PerRow() int { return h.geometry.PerRow() }

// Context is the number of earlier tokens a position may look at.
func (h *Hash) Context() int { return h.geometry.NgramSize - 1 }

// IDs writes the row ids of tokens to dst [len(tokens) * PerRow], position-major, order 2 first. history holds the tokens
// before them, oldest first, any length (only the last Context count); what is missing on the left counts as EOS. An EOS
// cuts the look-back of every later token but not its own (spec 2.7.2).
//
// Ids are in [0, Total) for any token values: ids out of the vocabulary are refused far above, but no value may read
// outside the table.
func (h *Hash) IDs(dst []int64, history, tokens []int32) {
	per := h.PerRow()
	if len(dst) != len(tokens)*per {
		panic(fmt.Sprintf("ple: Hash.IDs: got room for %d ids, want %d tokens * %d", len(dst), len(tokens), per))
	}
	for p := range tokens {
		h.row(dst[p*per:(p+1)*per], history, tokens, p)
	}
}

// row writes the ids of position p.
func (h *Hash) row(dst []int64, history, tokens []int32, p int) {
	c, heads, eos := &h.constants, h.geometry.Heads, h.geometry.EOS
	// Sign-extending keeps the wraparound product of 64-bit integers for any int32.
	mix := uint64(int64(tokens[p])) * c.Multipliers[0]
	cut := false
	for j := 1; j < h.geometry.NgramSize; j++ {
		t := eos
		if !cut {
			switch at := p - j; {
			case at >= 0:
				t = tokens[at]
			case len(history)+at >= 0:
				t = history[len(history)+at]
			}
			// Past an EOS, or past the start, everything is EOS.
			cut = t == eos
		}
		mix ^= uint64(int64(t)) * c.Multipliers[j]
		for i := (j - 1) * heads; i < j*heads; i++ {
			dst[i] = floorMod(mix, uint64(c.Sizes[i])) + c.Offsets[i]
		}
	}
}

// floorMod is the non-negative remainder of mix read as a signed number. It goes through the unsigned magnitude, so that
// the smallest int64 has no special case.
func floorMod(mix, size uint64) int64 {
	if int64(mix) >= 0 {
		return int64(mix % size)
	}
	r := (-mix) % size
	if r == 0 {
		return 0
	}
	return int64(size - r)
}

package qsa

import (
	"errors"
	"fmt"
)

// ErrGeometry marks index settings or parts that do not fit together: the field, got and want are in the text.
var ErrGeometry = errors.New("qsa: bad geometry")

// Geometry is the index part of an attention layer (spec 1.1). Nothing is tied to a released size.
type Geometry struct {
	Heads  int     // index query heads
	Dim    int     // index head dim
	Ratio  int     // positions per block
	Budget int     // positions a query may choose
	Eps    float32 // rms_norm_eps
}

// Validate names the first field that does not fit. Errors wrap ErrGeometry.
func (g Geometry) Validate() error {
	bad := func(field string, got any, want string) error {
		return fmt.Errorf("%w: %s: got %v, want %s", ErrGeometry, field, got, want)
	}
	switch {
	case g.Heads < 1:
		return bad("indexer_n_heads", g.Heads, "1 or more")
	case g.Dim < 2:
		return bad("indexer_head_dim", g.Dim, "2 or more")
	case g.Ratio < 1:
		return bad("indexer_compress_ratio", g.Ratio, "1 or more")
	case g.Budget < g.Ratio:
		return bad("indexer_budget", g.Budget, fmt.Sprintf("at least one block of %d", g.Ratio))
	case !(g.Eps > 0):
		return bad("rms_norm_eps", g.Eps, "a positive number")
	}
	return nil
}

// Top is the number of blocks a query may choose.
func (g Geometry) Top() int { return g.Budget / g.Ratio }

// Complete is the number of complete blocks among n positions.
func (g Geometry) Complete(n int) int { return n / g.Ratio }

// Dense reports whether a query that sees n positions chooses all its blocks, so that plain causal attention is exact and
// no block need be scored.
func (g Geometry) Dense(n int) bool { return g.Complete(n) <= g.Top() }

// MaxNew is the most blocks that m consecutive rows can complete, whatever the position they start at.
func (g Geometry) MaxNew(m int) int { return (m + g.Ratio - 1) / g.Ratio }

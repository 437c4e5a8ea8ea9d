package ple

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// ErrLayer marks a PLE layer whose parts do not fit together: the part, got and want are in the text.
var ErrLayer = errors.New("ple: bad layer")

// Layer is what one PLE layer needs to make its part of a window; it lives as long as the model and is immutable.
// Axis letters as in metal: H hidden, S streams, W = S*H.
type Layer struct {
	K       int          // index among the PLE layers, from 0
	At      int          // trunk layer it sits on, from 0
	Hash    *Hash        // its own constants
	Cache   *Cache       // rows of its own table; nil: no row provider
	Key     metal.Weight // key_proj [W, Dim]
	Value   metal.Weight // value_proj [H, Dim]
	NormKey metal.Vec    // norm_key [W], 1+w
	Streams int
	Eps     float32
	Dim     int // ple_embed_dim
	Hidden  int
}

// Validate names the first part that does not fit the others. Errors wrap ErrLayer.
func (l *Layer) Validate() error {
	bad := func(part string, got, want any) error {
		return fmt.Errorf("%w: layer %d (PLE layer %d): %s: got %v, want %v", ErrLayer, l.At, l.K, part, got, want)
	}
	w := l.Streams * l.Hidden
	switch {
	case l.K < 0 || l.At < 0:
		return bad("place", fmt.Sprintf("PLE layer %d on layer %d", l.K, l.At), "0 or more")
	case l.Streams < 1 || l.Hidden < 1 || l.Dim < 1:
		return bad("geometry", fmt.Sprintf("streams %d, hidden %d, dim %d", l.Streams, l.Hidden, l.Dim), "all positive")
	case !(l.Eps > 0):
		return bad("norm epsilon", l.Eps, "a positive number")
	case l.Hash == nil:
		return bad("hash", "none", "constants")
	case l.Hash.Geometry().Dim != l.Dim:
		return bad("ple_embed_dim of the hash", l.Hash.Geometry().Dim, l.Dim)
	case l.Key == nil || l.Value == nil:
		return bad("projections", "none", "key_proj and value_proj")
	case l.Key.Rows() != w || l.Key.Cols() != l.Dim:
		return bad("key_proj", [2]int{l.Key.Rows(), l.Key.Cols()}, [2]int{w, l.Dim})
	case l.Value.Rows() != l.Hidden || l.Value.Cols() != l.Dim:
		return bad("value_proj", [2]int{l.Value.Rows(), l.Value.Cols()}, [2]int{l.Hidden, l.Dim})
	case !l.NormKey.Valid() || l.NormKey.N != w:
		return bad("norm_key", l.NormKey.N, w)
	}
	if l.Cache == nil {
		return nil
	}
	t := l.Cache.Table()
	if t.Dim()*l.Hash.PerRow() != l.Dim {
		return bad("table "+t.Name()+": dim", t.Dim(), fmt.Sprintf("%d (%d over %d heads)", l.Dim/l.Hash.PerRow(), l.Dim, l.Hash.PerRow()))
	}
	// Padding may differ between packs; too few rows would send an id past the end.
	if need := l.Hash.Constants().Total(); t.Rows() < need {
		return bad("table "+t.Name()+": rows", t.Rows(), fmt.Sprintf("%d or more (the heads' sizes)", need))
	}
	return nil
}

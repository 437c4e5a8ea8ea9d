package state

import (
	"fmt"

	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// Attention is the caches of one attention layer, positions from 0 (spec 2.5, 4): K (after norm and rope) and V
// [Cap, Width], Raw [Cap, Index.Dim] index keys (no norm, no rope), and the bank of pooled keys.
type Attention struct {
	AttentionShape
	K, V, Raw metal.Buffer
	Bank      *qsa.Bank
	Cap       int // positions there is room for
}

// Rows is rows [from, from+n) of a cache whose rows have cols values.
func Rows(b metal.Buffer, cols, from, n int) metal.Mat {
	return metal.Mat{Buf: b, Off: from * cols, Rows: n, Cols: cols, Stride: cols}
}

// KRows is the keys of positions [from, from+n).
func (a *Attention) KRows(from, n int) metal.Mat { return Rows(a.K, a.Width, from, n) }

// VRows is the values of positions [from, from+n).
func (a *Attention) VRows(from, n int) metal.Mat { return Rows(a.V, a.Width, from, n) }

// RawRows is the raw index keys of positions [from, from+n).
func (a *Attention) RawRows(from, n int) metal.Mat { return Rows(a.Raw, a.Index.Dim, from, n) }

// RawKeys is all raw index keys, as pooling wants them; no memory is behind it before the first growth.
func (a *Attention) RawKeys() metal.Vec {
	if a.Raw == nil {
		return metal.Vec{}
	}
	return metal.NewVec(a.Raw)
}

// grown is the new buffers of a cache that is being enlarged.
type grown struct {
	k, v, raw metal.Buffer
}

func (g grown) free() {
	for _, b := range []metal.Buffer{g.k, g.v, g.raw} {
		if b != nil {
			b.Free()
		}
	}
}

// alloc allocates buffers for so many positions and leaves a as it is.
func (a *Attention) alloc(dev metal.Device, positions int) (grown, error) {
	var g grown
	var err error
	for _, p := range []struct {
		dst  *metal.Buffer
		cols int
	}{{&g.k, a.Width}, {&g.v, a.Width}, {&g.raw, a.Index.Dim}} {
		if *p.dst, err = dev.Alloc(metal.F32, positions*p.cols); err != nil {
			g.free()
			return grown{}, fmt.Errorf("caches of layer %d: %w", a.Layer, err)
		}
	}
	return g, nil
}

// adopt copies the rows of the first n positions into g's buffers and makes them the cache.
func (a *Attention) adopt(st metal.Stream, g grown, n int) {
	for _, p := range []struct {
		old, new metal.Buffer
		cols     int
	}{{a.K, g.k, a.Width}, {a.V, g.v, a.Width}, {a.Raw, g.raw, a.Index.Dim}} {
		if n > 0 {
			st.Copy(metal.Vec{Buf: p.new, N: n * p.cols}, metal.Vec{Buf: p.old, N: n * p.cols})
		}
	}
}

// install frees the old buffers; the copies into g must have run.
func (a *Attention) install(g grown, positions int) {
	grown{a.K, a.V, a.Raw}.free()
	a.K, a.V, a.Raw, a.Cap = g.k, g.v, g.raw, positions
}

func (a *Attention) bytes() int64 {
	n := 4 * int64(a.Cap) * int64(2*a.Width+a.Index.Dim)
	if a.Bank != nil {
		n += a.Bank.Bytes()
	}
	return n
}

func (a *Attention) free() {
	grown{a.K, a.V, a.Raw}.free()
	a.K, a.V, a.Raw, a.Cap = nil, nil, nil, 0
	if a.Bank != nil {
		a.Bank.Free()
		a.Bank = nil
	}
}

// Settle brings a layer's bank to the complete blocks of the first committed positions, on p's stream, and waits for
// it: what an indexer does after a commit. It returns how many blocks were selected from scratch and how many pooled
// from raw keys.
func Settle(a *Attention, p *qsa.Pooler, ix *qsa.Indexer, committed int) (kept, pooled int, err error) {
	return a.Bank.Settle(p, ix, a.RawKeys(), committed)
}

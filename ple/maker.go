package ple

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// chunkRows is how many rows a maker takes at a time: enough for a projection to reuse its weights, few enough that the
// scratch of a long prompt stays small. Rows are exact, so it changes no bit.
const chunkRows = 128

// Maker fills windows. It has a device stream and scratch of its own, so it is for one goroutine at a time; the stager,
// each pass that makes windows inline and each test has its own.
type Maker struct {
	dev    metal.Device
	stream metal.Stream
	layers []*Layer
	direct bool

	scratch Scratch
	ids     []int64
	host    []float32
	plane   metal.Buffer // [chunkRows or fewer, ple_embed_dim]
}

// MakerOption changes a Maker.
type MakerOption func(*Maker)

// NoCache reads every row past the LRU (mode async-raw, for measurement only). It changes no bit.
func NoCache() MakerOption { return func(m *Maker) { m.direct = true } }

// NewMaker opens a stream for the given layers, in order of K. Scratch is allocated when it is first needed.
func NewMaker(dev metal.Device, layers []*Layer, opts ...MakerOption) *Maker {
	m := &Maker{dev: dev, stream: dev.NewStream(), layers: layers}
	for _, o := range opts {
		o(m)
	}
	return m
}

// Read brings the table rows of the window's rows up to to into the window, for all PLE layers: row ids, then one gather,
// sorted, of all that are not there yet. It needs tokens only, so it may run as soon as they are known, and leaves the
// arithmetic to Make. Errors are those of Make; rows that were there stay.
func (m *Maker) Read(ctx context.Context, w *Window, to int) error {
	if to < 0 || to > w.Rows() {
		panic(fmt.Sprintf("ple: Read: got rows up to %d, want them inside the window's %d", to, w.Rows()))
	}
	m.fits(w)
	from := w.read
	if from >= to {
		return nil
	}
	for k, l := range m.layers {
		if err := m.gather(ctx, l, w, k, from, to); err != nil {
			return fmt.Errorf("ple: layer %d: rows at position %d: %w", l.At, w.pos+from, err)
		}
	}
	w.read = to
	return nil
}

// Make makes rows [from, to) of the window for all PLE layers. Rows that Read did not bring are read now; then they are
// dequantised, and
//
//	keys = GroupedRMSNorm(e key_proj^T; norm_key)    values = e value_proj^T    (spec 2.7.3)
//
// and it waits until the device is done, so that other streams may read the planes. It does not open the window's gate. A
// row's bits depend on its own token and the ones before it only: making rows one by one or together is the same.
// Together costs one walk over the projections' weights.
//
// An error (a failed read wraps ErrRead, no device memory wraps metal.ErrMemory, a cancelled context its cause) leaves
// the window as it was but for rows [from, to), which may be made again.
func (m *Maker) Make(ctx context.Context, w *Window, from, to int) error {
	if from < 0 || from > to || to > w.Rows() {
		panic(fmt.Sprintf("ple: Make: got rows %d to %d, want them inside the window's %d", from, to, w.Rows()))
	}
	if err := m.Read(ctx, w, to); err != nil {
		return err
	}
	for at := from; at < to; at += chunkRows {
		n := min(chunkRows, to-at)
		for k, l := range m.layers {
			if err := m.embed(l, w, k, at, n); err != nil {
				return fmt.Errorf("ple: layer %d: rows at position %d: %w", l.At, w.pos+at, err)
			}
			e := metal.Mat{Buf: m.plane, Rows: n, Cols: l.Dim, Stride: l.Dim}
			keys, values := w.planes[k].keys.RowsOf(at, n), w.planes[k].values.RowsOf(at, n)
			m.stream.Linear(keys, e, l.Key)
			m.stream.Norm(keys, keys, l.NormKey, l.Streams, l.Eps)
			m.stream.Linear(values, e, l.Value)
		}
	}
	if err := m.stream.Sync(); err != nil {
		return fmt.Errorf("ple: rows at position %d: %w", w.pos+from, err)
	}
	return nil
}

// fits checks that the window is of the maker's layers.
func (m *Maker) fits(w *Window) {
	if len(w.planes) != len(m.layers) {
		panic(fmt.Sprintf("ple: maker: got a window of %d PLE layers, want %d", len(w.planes), len(m.layers)))
	}
}

// gather brings the records of rows [from, to) of PLE layer k into the window.
func (m *Maker) gather(ctx context.Context, l *Layer, w *Window, k, from, to int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if l.Cache == nil {
		return fmt.Errorf("%w: no row provider", ErrRead)
	}
	per, first := l.Hash.PerRow(), w.history+from
	m.ids = resize(m.ids, (to-from)*per)
	l.Hash.IDs(m.ids, w.tokens[:first], w.tokens[first:w.history+to])
	gather := l.Cache.Gather
	if m.direct {
		gather = l.Cache.Direct
	}
	return gather(ctx, &m.scratch, w.records(k)[from*per*l.Cache.Table().RowBytes():to*per*l.Cache.Table().RowBytes()], m.ids)
}

// embed brings the embeddings of n rows from at on, whose records are in the window, to the device scratch,
// [n, ple_embed_dim].
func (m *Maker) embed(l *Layer, w *Window, k, at, n int) error {
	table, per := l.Cache.Table(), l.Hash.PerRow()
	record, dim := table.RowBytes(), table.Dim()
	raw := w.records(k)[at*per*record : (at+n)*per*record]
	m.host = resize(m.host, n*l.Dim)
	for i := range n * per {
		table.Dequant(m.host[i*dim:(i+1)*dim], raw[i*record:(i+1)*record])
	}
	if err := m.room(n * l.Dim); err != nil {
		return err
	}
	m.stream.Write(metal.Vec{Buf: m.plane, N: n * l.Dim}, m.host)
	return nil
}

// room makes the device scratch hold n values. Ops that read the old one are waited for.
func (m *Maker) room(n int) error {
	if m.plane != nil && m.plane.Len() >= n {
		return nil
	}
	b, err := m.dev.Alloc(metal.F32, n)
	if err != nil {
		return err
	}
	if m.plane != nil {
		if err := m.stream.Sync(); err != nil {
			b.Free()
			return err
		}
		m.plane.Free()
	}
	m.plane = b
	return nil
}

// Bytes is the device memory the maker holds.
func (m *Maker) Bytes() int64 {
	if m.plane == nil {
		return 0
	}
	return int64(m.plane.Len()) * 4
}

// Free releases the scratch.
func (m *Maker) Free() {
	if m.plane != nil {
		m.plane.Free()
		m.plane = nil
	}
}

// resize returns a slice of length n, reusing s where it has room.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

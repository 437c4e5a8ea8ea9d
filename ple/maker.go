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
	raw     []byte
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

// Make makes rows [from, to) of the window for all PLE layers: row ids, gather, dequantise, then
//
//	keys = GroupedRMSNorm(e key_proj^T; norm_key)    values = e value_proj^T    (spec 2.7.3)
//
// and waits until the device is done, so that other streams may read the planes. It does not open the window's gate. A
// row's bits depend on its own token and the ones before it only: making rows one by one or together is the same.
//
// An error (a failed read wraps ErrRead, no device memory wraps metal.ErrMemory, a cancelled context its cause) leaves
// the window as it was but for rows [from, to), which may be made again.
func (m *Maker) Make(ctx context.Context, w *Window, from, to int) error {
	if from < 0 || from > to || to > w.Rows() {
		panic(fmt.Sprintf("ple: Make: got rows %d to %d, want them inside the window's %d", from, to, w.Rows()))
	}
	if len(w.planes) != len(m.layers) {
		panic(fmt.Sprintf("ple: Make: got a window of %d PLE layers, want %d", len(w.planes), len(m.layers)))
	}
	for at := from; at < to; at += chunkRows {
		n := min(chunkRows, to-at)
		for k, l := range m.layers {
			if err := m.embed(ctx, l, w, at, n); err != nil {
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

// embed brings the embeddings of n rows from at on to the device scratch, [n, ple_embed_dim].
func (m *Maker) embed(ctx context.Context, l *Layer, w *Window, at, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if l.Cache == nil {
		return fmt.Errorf("%w: no row provider", ErrRead)
	}
	table, per := l.Cache.Table(), l.Hash.PerRow()
	m.ids = resize(m.ids, n*per)
	m.raw = resize(m.raw, n*per*table.RowBytes())
	m.host = resize(m.host, n*l.Dim)
	first := w.history + at
	l.Hash.IDs(m.ids, w.tokens[:first], w.tokens[first:first+n])
	gather := l.Cache.Gather
	if m.direct {
		gather = l.Cache.Direct
	}
	if err := gather(ctx, &m.scratch, m.raw, m.ids); err != nil {
		return err
	}
	record, dim := table.RowBytes(), table.Dim()
	for i := range m.ids {
		table.Dequant(m.host[i*dim:(i+1)*dim], m.raw[i*record:(i+1)*record])
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

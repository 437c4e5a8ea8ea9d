package model

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// loadPLE loads the k-th PLE layer, on trunk layer i: hash constants, table, row cache and projections (spec 2.7).
func (m *Model) loadPLE(l *block.Loader, i, k int, o Options) {
	cfg, prefix := &m.Config, fmt.Sprintf("layers.%d.ple", i)
	hash, err := loadHash(l.Pack, cfg, prefix+".ple_embedding", k)
	if err != nil {
		l.Fail(fmt.Errorf("layer %d: %w", i, err))
		return
	}
	cache, err := loadTable(l, len(cfg.PLELayers), k, o)
	if err != nil {
		l.Fail(fmt.Errorf("layer %d: n-gram table: %w", i, err))
		return
	}
	x := &ple.Layer{
		K: k, At: i, Hash: hash, Cache: cache,
		Key:     l.Linear(prefix+".key_proj", cfg.Width(), cfg.PLEDim),
		Value:   l.Linear(prefix+".value_proj", cfg.Hidden, cfg.PLEDim),
		NormKey: l.Norm(prefix+".norm_key", cfg.Width()),
		Streams: cfg.Streams, Eps: cfg.Eps, Dim: cfg.PLEDim, Hidden: cfg.Hidden,
	}
	if l.Err() != nil {
		return
	}
	if err := x.Validate(); err != nil {
		l.Fail(err)
		return
	}
	m.PLE = append(m.PLE, x)
}

// loadHash derives the constants of the k-th PLE layer and compares them with those the pack ships, if it does.
func loadHash(p *pack.Pack, cfg *pack.Config, prefix string, k int) (*ple.Hash, error) {
	g := cfg.NgramGeometry()
	c, err := ple.Derive(g, k)
	if err != nil {
		return nil, err
	}
	mult, ok1, err := p.Ints(prefix+".layer_multipliers", cfg.NgramSize)
	if err != nil {
		return nil, err
	}
	sizes, ok2, err := p.Ints(prefix+".ngram_heads_vocab_sizes", cfg.NgramHeads())
	if err != nil {
		return nil, err
	}
	offsets, ok3, err := p.Ints(prefix+".ngram_heads_offsets", cfg.NgramHeads())
	if err != nil {
		return nil, err
	}
	if !ok1 {
		mult = signed(c.Multipliers)
	}
	if !ok2 {
		sizes = c.Sizes
	}
	if !ok3 {
		offsets = c.Offsets
	}
	shipped := ple.Constants{Multipliers: unsigned(mult), Sizes: sizes, Offsets: offsets}
	if err := c.Equal(shipped); err != nil {
		return nil, fmt.Errorf("%s: %w", prefix, err)
	}
	return ple.NewHash(g, c)
}

func signed(u []uint64) []int64 {
	s := make([]int64, len(u))
	for i, x := range u {
		s[i] = int64(x)
	}
	return s
}

func unsigned(s []int64) []uint64 {
	u := make([]uint64, len(s))
	for i, x := range s {
		u[i] = uint64(x)
	}
	return u
}

// loadTable opens the k-th of n tables, where o places it, behind its share of the row cache.
func loadTable(l *block.Loader, n, k int, o Options) (*ple.Cache, error) {
	spec, err := l.Pack.NgramTable(k)
	if err != nil {
		return nil, err
	}
	spec, err = spec.Place(o.Placement, func(bytes int64) ([]byte, error) { return hold(l, bytes) })
	if err != nil {
		return nil, err
	}
	if o.TableFile != nil {
		spec = spec.Before(o.TableFile)
	}
	t, err := ple.OpenTable(spec)
	if err != nil {
		return nil, err
	}
	limit := o.PLECache
	switch {
	case limit == 0:
		limit = DefaultPLECache
	case limit < 0:
		limit = 0
	}
	return ple.NewCache(t, limit/int64(n), ple.CacheOptions{})
}

// lent is memory of a table that the device lent.
type lent struct{ release func() }

// Free gives it back.
func (h lent) Free() { h.release() }

// hold lends memory for a table until the loader frees: the device's, under its limit, if it has any of the host's.
func hold(l *block.Loader, bytes int64) ([]byte, error) {
	dev, ok := l.Device.(metal.Holder)
	if !ok {
		return make([]byte, bytes), nil
	}
	b, release, err := dev.Hold(bytes)
	if err == nil {
		l.Hold(lent{release})
	}
	return b, err
}

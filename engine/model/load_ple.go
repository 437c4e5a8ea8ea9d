package model

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
)

// loadPLE loads the k-th PLE layer, on trunk layer i: hash constants, table, row cache and projections (spec 2.7).
func (m *Model) loadPLE(l *block.Loader, i, k int, o Options) {
	cfg, prefix := &m.Config, fmt.Sprintf("layers.%d.ple", i)
	constants, err := l.Pack.HashConstants(k)
	if err != nil {
		l.Fail(fmt.Errorf("layer %d: %w", i, err))
		return
	}
	hash, err := ple.NewHash(cfg.NgramGeometry(), constants)
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

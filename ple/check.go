package ple

import (
	"errors"
	"fmt"
)

// Lane is the name of the lane whose install check this is.
const Lane = "ple_cached_aux"

// Variant is the lane's way of working: planes are made beside the draft, from cached rows.
const Variant = "async_aux"

// ErrInstall marks a mismatch that fails the load (design section 5); what, got and want are in the text.
var ErrInstall = errors.New("ple: lane " + Lane + " does not fit")

// Model is what the config says, for Check to hold the layers against.
type Model struct {
	Layers   []int      // trunk layers with a PLE, in order, from 0
	Geometry []Geometry // one per PLE layer
	Hidden   int
	Streams  int
	Eps      float32
	Pending  int // windows the stager may have under way
}

// Verdict is the outcome of an install check that does not fail the load.
type Verdict struct {
	Installed bool
	Reason    string // why the lane declines; "" when installed
	Report    Report // zero when it declines
}

// Report is what an installed lane tells in its verdict line and in /health.
type Report struct {
	Variant      string   `json:"variant"`
	PendingLimit int      `json:"pending_limit"`
	Bindings     int      `json:"bindings"` // PLE layers bound
	RowsPerToken int      `json:"rows_per_token"`
	Tables       []Bound  `json:"tables"`
	Layers       []int    `json:"ple_layer_positions"`
	Planes       []string `json:"planes"` // what a window carries per layer
}

// Bound is one PLE layer's table as it was bound.
type Bound struct {
	Table      string `json:"table"`
	Format     string `json:"format"`
	Rows       int64  `json:"rows"`
	Shards     int    `json:"shards"`
	RowBytes   int    `json:"row_bytes"`
	PlaneBytes [3]int `json:"plane_bytes"` // weight, scales, biases
	Placement  string `json:"placement"`   // where rows are read from
	CacheRows  int    `json:"cache_rows"`
	CacheLimit int64  `json:"cache_limit_bytes"`
}

// String is the verdict in the words of the log line.
func (v Verdict) String() string {
	if !v.Installed {
		return "declined to stock: " + v.Reason
	}
	s := fmt.Sprintf("installed: variant=%s pending_limit=%d bindings=%d rows_per_token=%d", v.Report.Variant, v.Report.PendingLimit,
		v.Report.Bindings, v.Report.RowsPerToken)
	for _, b := range v.Report.Tables {
		s += fmt.Sprintf(" table=%s format=%s row_bytes=%d placement=%s cache_rows=%d", b.Table, b.Format, b.RowBytes, b.Placement, b.CacheRows)
	}
	return s
}

// Check is the lane's install check (design section 5): n-gram order, heads, dims and the constants' shapes of every PLE
// layer, the table's planes (dtype, width, equal rows, spans, no overlap) and its row bytes. A model without PLE layers, or
// a layer without a row provider, declines; any other mismatch is an error that wraps ErrInstall and fails the load.
func Check(m Model, layers []*Layer) (Verdict, error) {
	bad := func(what string, got, want any) (Verdict, error) {
		return Verdict{}, fmt.Errorf("%w: %s: got %v, want %v", ErrInstall, what, got, want)
	}
	if len(m.Layers) == 0 && len(layers) == 0 {
		return Verdict{Reason: "the model has no PLE layer"}, nil
	}
	if len(layers) != len(m.Layers) || len(m.Geometry) != len(m.Layers) {
		return bad("PLE layers", len(layers), fmt.Sprintf("%d, with a geometry each (got %d)", len(m.Layers), len(m.Geometry)))
	}
	if m.Pending < 1 {
		return bad("pending limit", m.Pending, "1 or more")
	}
	r := Report{Variant: Variant, PendingLimit: m.Pending, Bindings: len(layers), Layers: m.Layers, Planes: []string{"keys", "values"}}
	reason := ""
	for k, l := range layers {
		if l == nil {
			return bad(fmt.Sprintf("PLE layer %d", k), "none", "one")
		}
		at := fmt.Sprintf("layer %d: ", m.Layers[k])
		switch g := m.Geometry[k]; {
		case l.K != k || l.At != m.Layers[k]:
			return bad("PLE layer position", fmt.Sprintf("%d on layer %d", l.K, l.At), fmt.Sprintf("%d on layer %d", k, m.Layers[k]))
		case l.Hash == nil:
			return bad(at+"hash", "none", "constants")
		case l.Hash.Geometry() != g:
			return bad(at+"n-gram geometry", fmt.Sprintf("%+v", l.Hash.Geometry()), fmt.Sprintf("%+v", g))
		case l.Hidden != m.Hidden || l.Streams != m.Streams:
			return bad(at+"hidden, streams", [2]int{l.Hidden, l.Streams}, [2]int{m.Hidden, m.Streams})
		case l.Eps != m.Eps:
			return bad(at+"norm epsilon", l.Eps, m.Eps)
		}
		if err := l.Validate(); err != nil {
			return Verdict{}, fmt.Errorf("%w: %w", ErrInstall, err)
		}
		if l.Cache == nil {
			reason = fmt.Sprintf("no row provider for the PLE layer on layer %d", l.At)
			continue
		}
		b, err := bind(l)
		if err != nil {
			return Verdict{}, fmt.Errorf("%w: %s%w", ErrInstall, at, err)
		}
		r.RowsPerToken += l.Hash.PerRow()
		r.Tables = append(r.Tables, b)
	}
	// Mismatches of any layer come first: they fail the load whatever else is missing.
	if reason != "" {
		return Verdict{Reason: reason}, nil
	}
	return Verdict{Installed: true, Report: r}, nil
}

// bind checks a layer's table again, planes and all, and reports it.
func bind(l *Layer) (Bound, error) {
	t, c := l.Cache.Table(), l.Cache
	if err := t.spec.Validate(); err != nil {
		return Bound{}, err
	}
	planes := t.PlaneBytes()
	if got, want := t.RowBytes(), planes[0]+planes[1]+planes[2]; got != want || c.lru.record != want {
		return Bound{}, fmt.Errorf("table %s: row bytes: got %d, cached %d, want %d", t.Name(), got, c.lru.record, want)
	}
	return Bound{
		Table: t.Name(), Format: t.Format().String(), Rows: t.Rows(), Shards: t.Shards(), RowBytes: t.RowBytes(), PlaneBytes: planes,
		Placement: t.Placement().String(), CacheRows: c.Capacity(), CacheLimit: c.limit,
	}, nil
}

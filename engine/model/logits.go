package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// LogitsOptions of Logits.
type LogitsOptions struct {
	All    bool // of every position; else of the last only
	Layers bool // also what the layers did
	Chunk  int  // rows of a pass; 0: 256. It changes no bit
}

// LogitsReport is the format of `flashlane logits`, made to compare this engine with another one. It is kept stable.
type LogitsReport struct {
	Device    string `json:"device_kind"` // equal numbers are promised for equal pack and device kind only
	Precision string `json:"precision"`

	IDs    []int32     `json:"ids"`
	Logits [][]float32 `json:"logits"` // [1 or positions][vocab]
	// Hidden has "embed" [positions][H], "layer0", "layer1", ... [positions][S*H] (the streams after that layer) and
	// "final" [positions][H] (the final mixer's output). Only with Layers.
	Hidden map[string][][]float32 `json:"hidden,omitempty"`
	// SelectedBlocks has the blocks, ascending, by trunk index of a QSA layer and position; all complete blocks while
	// they fit the budget. Only with Layers.
	SelectedBlocks map[string]map[string][]int32 `json:"selected_blocks,omitempty"`
}

// Logits runs ids through the trunk from an empty sequence.
func Logits(ctx context.Context, m *Model, ids []int32, o LogitsOptions) (*LogitsReport, error) {
	if len(ids) == 0 || len(ids) > m.Context() {
		return nil, fmt.Errorf("model: logits: got %d ids, want 1 to %d", len(ids), m.Context())
	}
	if o.Chunk == 0 {
		o.Chunk = 256
	}
	if o.Chunk < 1 {
		return nil, fmt.Errorf("model: logits: chunk: got %d rows, want at least 1", o.Chunk)
	}
	p, err := m.NewPass(min(o.Chunk, len(ids)))
	if err != nil {
		return nil, err
	}
	defer p.Free()
	seq, err := m.NewSequence()
	if err != nil {
		return nil, err
	}
	defer seq.Release()
	if o.Layers {
		p.Trace = NewTrace()
	}
	info := m.Device.Info()
	r := &LogitsReport{Device: info.Kind, Precision: info.Precision, IDs: ids}
	for from := 0; from < len(ids); from += o.Chunk {
		to := min(from+o.Chunk, len(ids))
		if err := r.chunk(ctx, p, &Segment{Seq: seq, Tokens: ids[from:to], History: ids[:from], Class: Prompt}, o, to == len(ids)); err != nil {
			return nil, err
		}
	}
	if o.Layers {
		r.trace(p.Trace, len(ids))
	}
	return r, nil
}

func (r *LogitsReport) chunk(ctx context.Context, p *Pass, seg *Segment, o LogitsOptions, last bool) error {
	switch {
	case o.All || o.Layers: // the final mixer's rows come with the logits
		seg.Logits = LogitsAll
	case last:
		seg.Logits = LogitsLast
	}
	if err := p.Run(ctx, []*Segment{seg}); err != nil {
		return err
	}
	for row := range seg.Tokens {
		if !o.All && !(last && row == len(seg.Tokens)-1) {
			continue
		}
		f := make([]float32, p.m.Config.Vocab)
		if err := p.LogitsRow(f, seg, row); err != nil {
			return err
		}
		for id, x := range f {
			if x-x != 0 { // NaN or infinite; JSON has no word for either
				return fmt.Errorf("model: logits: position %d: got %v for id %d, want finite values", seg.Seq.Len+row, x, id)
			}
		}
		r.Logits = append(r.Logits, f)
	}
	if err := p.Commit(seg, len(seg.Tokens)); err != nil {
		return err
	}
	return p.Settle(seg)
}

func (r *LogitsReport) trace(t *Trace, positions int) {
	r.Hidden = map[string][][]float32{}
	for name, rows := range t.Hidden {
		out := make([][]float32, positions)
		for pos, f := range rows {
			out[pos] = f
		}
		r.Hidden[name] = out
	}
	r.SelectedBlocks = map[string]map[string][]int32{}
	for layer, rows := range t.Blocks {
		out := map[string][]int32{}
		for _, pos := range slices.Sorted(maps.Keys(rows)) {
			out[strconv.Itoa(pos)] = rows[pos]
		}
		r.SelectedBlocks[strconv.Itoa(layer)] = out
	}
}

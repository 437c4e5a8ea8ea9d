package model

import (
	"fmt"
	"strconv"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
)

// Trace records what a sequence's rows went through, position by position, over any number of passes of one segment
// each. It is what `flashlane logits --layers` prints.
type Trace struct {
	// Hidden has "embed" (one copy of the embedding, [H]), "layer0", "layer1", ... (the streams after the layer, [S*H])
	// and "final" (the final mixer's output, [H], of the positions whose logits were asked for), by position.
	Hidden map[string]map[int][]float32
	// Blocks has the block ids each attention layer chose, ascending, by trunk layer index and position: all complete
	// blocks while they fit the budget. An empty list means that the position sees no complete block.
	Blocks map[int]map[int][]int32
}

// NewTrace returns an empty trace.
func NewTrace() *Trace {
	return &Trace{Hidden: map[string]map[int][]float32{}, Blocks: map[int]map[int][]int32{}}
}

// see shows rows to the probe and to the trace.
func (p *Pass) see(name string, layer int, rows metal.Mat) {
	if p.Probe != nil {
		p.Probe(name, layer, rows)
	}
	if p.Trace == nil {
		return
	}
	s := &p.slots[0]
	pos := s.span.Pos
	switch name {
	case "embed":
		rows = rows.ColsOf(0, p.m.Config.Hidden)
	case "layer":
		name += strconv.Itoa(layer)
	case "final":
		pos += s.span.N - s.wanted
	default:
		return
	}
	t := p.Trace.Hidden[name]
	if t == nil {
		t = map[int][]float32{}
		p.Trace.Hidden[name] = t
	}
	for r := range rows.Rows {
		f := make([]float32, rows.Cols)
		if err := p.st.Read(f, rows.Row(r)); err != nil {
			return // sticky: Run ends with it
		}
		t[pos+r] = f
	}
}

// traceBlocks records the blocks each row attends to.
func (p *Pass) traceBlocks(l *block.Layer, sel metal.Mat) error {
	if p.Trace == nil {
		return nil
	}
	t := p.Trace.Blocks[l.Index]
	if t == nil {
		t = map[int][]int32{}
		p.Trace.Blocks[l.Index] = t
	}
	s, geo := p.slots[0].span, l.Attention.Indexer.Geometry
	for r := range s.N {
		n := s.Pos + r + 1
		ids := make([]int32, min(geo.Complete(n), geo.Top()))
		if geo.Dense(n) {
			for b := range ids {
				ids[b] = int32(b)
			}
		} else if err := p.st.ReadInts(ids, sel.RowsOf(s.Row+r, 1).ColsOf(0, len(ids)).Row(0)); err != nil {
			return fmt.Errorf("selected blocks: %w", err)
		}
		t[s.Pos+r] = ids
	}
	return nil
}

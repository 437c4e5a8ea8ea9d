package model

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// Pass runs rows through the trunk. It owns a stream and all scratch memory, and is for one goroutine at a time; only
// Progress may be called from others. After the first rounds it allocates nothing that counts.
type Pass struct {
	// Probe, if set, is called with each row matrix as it is made: "embed" and "layer" (streams [R, W]), "ple", "gdn",
	// "attn" and "mlp" (what the block adds, before injection), "final" (rows whose logits are wanted, [n, H]). It may
	// read them with Stream. layer is -1 outside the layers.
	Probe func(name string, layer int, rows metal.Mat)
	// Trace, if set, records every position's streams and chosen blocks. One segment per Run then.
	Trace *Trace

	m       *Model
	st      metal.Stream
	maxRows int

	streams metal.Buffer // X [maxRows, W]
	angles  metal.Buffer // cos | sin of each row's position [maxRows, rotary]
	cs      []float32    // angles on the host
	tokens  []int32
	arena   block.Arena
	logits  room // rows of V, as many as were ever wanted at once

	slots   []slot // of the last Run
	rows    int
	deltas  []block.DeltaSpan
	attends []block.AttentionSpan
	planes  []block.PlaneSpan
	spans   block.Spans

	pooler  *qsa.Pooler
	jobs    []qsa.Job
	maker   *ple.Maker
	windows []*ple.Window // for inline windows, one per slot that ever needed one
	held    []held        // per gated-delta-net layer: what a commit needs of drafted rows
	heldPLE []room        // per PLE layer: the convolution's input

	passes, layers atomic.Uint64
}

// NewPass returns a pass for at most maxRows rows at once. The error wraps metal.ErrMemory when the device is full.
func (m *Model) NewPass(maxRows int) (*Pass, error) {
	return m.NewPassOn(m.Device.NewStream(), maxRows)
}

// NewPassOn is NewPass with a stream of the model's device, which is the pass's from then on.
func (m *Model) NewPassOn(st metal.Stream, maxRows int) (*Pass, error) {
	if maxRows < 1 {
		return nil, fmt.Errorf("model: pass: got %d rows, want at least 1", maxRows)
	}
	p := &Pass{m: m, st: st, maxRows: maxRows}
	if err := p.alloc(); err != nil {
		p.Free()
		return nil, fmt.Errorf("model: pass of %d rows: %w", maxRows, err)
	}
	return p, nil
}

func (p *Pass) alloc() (err error) {
	m := p.m
	rotary := m.Freq.Rotary()
	if p.streams, err = m.Device.Alloc(metal.F32, p.maxRows*m.Config.Width()); err != nil {
		return err
	}
	if p.angles, err = m.Device.Alloc(metal.F32, p.maxRows*rotary); err != nil {
		return err
	}
	p.cs = make([]float32, p.maxRows*rotary)
	p.tokens = make([]int32, 0, p.maxRows)
	p.measure()
	if err = p.arena.Alloc(m.Device); err != nil {
		return err
	}
	p.held = make([]held, len(m.Shape.Recurrent))
	for i := range p.held {
		d := m.Shape.Recurrent[i]
		p.held[i] = newHeld(d.Tail.Cols, d.Delta.ValueHeads)
	}
	p.heldPLE = make([]room, len(m.PLE))
	for i := range p.heldPLE {
		p.heldPLE[i].cols = m.Config.Width()
	}
	p.pooler = qsa.NewPooler(m.Device, p.st)
	p.logits.cols = m.Config.Vocab
	if len(m.PLE) > 0 {
		p.maker = ple.NewMaker(m.Device, m.PLE)
	}
	return nil
}

// measure goes through the layers without running anything, to learn how much scratch they take.
func (p *Pass) measure() {
	x := p.x(p.maxRows)
	for _, l := range p.m.Layers {
		if err := p.runLayer(context.Background(), nil, l, x); err != nil {
			panic(err) // measuring runs nothing that could fail
		}
	}
	p.runHead(nil, x, p.maxRows)
}

// x is the streams of the first n rows.
func (p *Pass) x(n int) metal.Mat {
	w := p.m.Config.Width()
	return metal.Mat{Buf: p.streams, Rows: n, Cols: w, Stride: w}
}

// RowBytes is the device memory that a drafted row takes until it is committed, its logits included.
func (p *Pass) RowBytes() int64 {
	cols := p.logits.cols
	for i := range p.held {
		for _, r := range []*room{&p.held[i].pre, &p.held[i].post, &p.held[i].beta, &p.held[i].decay} {
			cols += r.cols
		}
	}
	for i := range p.heldPLE {
		cols += p.heldPLE[i].cols
	}
	return 4 * int64(cols)
}

// Stream is the pass's op queue, for a Probe to read with.
func (p *Pass) Stream() metal.Stream { return p.st }

// MaxRows is the most rows of one Run.
func (p *Pass) MaxRows() int { return p.maxRows }

// Progress is a pass's odometer, for a watchdog: both numbers only grow, and layers grows while a pass makes headway.
func (p *Pass) Progress() (passes, layers uint64) { return p.passes.Load(), p.layers.Load() }

// Free gives all memory back. The pass is not usable afterwards.
func (p *Pass) Free() {
	for _, b := range []metal.Buffer{p.streams, p.angles} {
		if b != nil {
			b.Free()
		}
	}
	p.streams, p.angles = nil, nil
	p.arena.Free()
	p.logits.free()
	for i := range p.held {
		p.held[i].free()
	}
	for i := range p.heldPLE {
		p.heldPLE[i].free()
	}
	for _, w := range p.windows {
		if w != nil {
			w.Free()
		}
	}
	p.windows = nil
	if p.pooler != nil {
		p.pooler.Free()
	}
	if p.maker != nil {
		p.maker.Free()
	}
}

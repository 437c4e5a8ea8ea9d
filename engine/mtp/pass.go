package mtp

import (
	"fmt"
	"sync/atomic"

	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/qsa"
)

// Pass runs the head over rows of one or more sequences. It owns a stream and all scratch memory, and is for one
// goroutine at a time; only Progress may be called from others.
type Pass struct {
	// Probe, if set, is shown the streams [n, W] of the rows whose drafts are wanted, one row per job still drafting, at
	// each step. It may read them with Stream.
	Probe func(step int, streams metal.Mat)

	h       *Head
	st      metal.Stream
	maxRows int

	in     metal.Buffer // streams a step's rows are built from [maxRows, W]
	z      metal.Buffer // what the layer runs on [maxRows, W]
	out    metal.Buffer // streams of the rows whose answer is wanted [maxRows, W]
	angles metal.Buffer // [maxRows, rotary]
	picked metal.Buffer // angles of the wanted rows [maxRows, rotary]
	logits metal.Buffer // [rows, V], grown to the most jobs ever drafting at once
	cs     []float32
	host   []float32 // one row of logits
	tokens []int32
	arena  block.Arena
	pooler *qsa.Pooler

	steps []span
	alive []span // while a chain's next step is put together
	rows  []block.AttentionSpan
	ends  []block.AttentionSpan
	jobs  []qsa.Job
	spans block.Spans

	passes, layers atomic.Uint64
}

// NewPass returns a pass for at most maxRows rows at once; longer catch-ups are cut. The error wraps metal.ErrMemory when
// the device is full.
func (h *Head) NewPass(maxRows int) (*Pass, error) {
	if maxRows < 1 {
		return nil, fmt.Errorf("mtp: pass: got %d rows, want at least 1", maxRows)
	}
	p := &Pass{h: h, st: h.m.Device.NewStream(), maxRows: maxRows}
	if err := p.alloc(); err != nil {
		p.Free()
		return nil, fmt.Errorf("mtp: pass of %d rows: %w", maxRows, err)
	}
	return p, nil
}

func (p *Pass) alloc() error {
	dev, w, rotary := p.h.m.Device, p.h.m.Config.Width(), p.h.freq.Rotary()
	for _, b := range []struct {
		buf  *metal.Buffer
		cols int
	}{{&p.in, w}, {&p.z, w}, {&p.out, w}, {&p.angles, rotary}, {&p.picked, rotary}} {
		var err error
		if *b.buf, err = dev.Alloc(metal.F32, p.maxRows*b.cols); err != nil {
			return err
		}
	}
	p.cs = make([]float32, p.maxRows*rotary)
	p.host = make([]float32, p.h.m.Config.Vocab)
	p.pooler = qsa.NewPooler(dev, p.st)
	if err := p.layer(nil, p.maxRows, p.maxRows); err != nil {
		panic(err) // measuring runs nothing that could fail
	}
	p.answer(nil, p.maxRows)
	return p.arena.Alloc(dev)
}

// mat is the first rows of one of the pass's buffers.
func mat(b metal.Buffer, rows, cols int) metal.Mat {
	return metal.Mat{Buf: b, Rows: rows, Cols: cols, Stride: cols}
}

// Stream is the pass's op queue, for a Probe to read with.
func (p *Pass) Stream() metal.Stream { return p.st }

// MaxRows is the most rows of one step.
func (p *Pass) MaxRows() int { return p.maxRows }

// Progress is a pass's odometer, for a watchdog: both numbers only grow; layers counts steps run.
func (p *Pass) Progress() (passes, layers uint64) { return p.passes.Load(), p.layers.Load() }

// Free gives all memory back. The pass is not usable afterwards.
func (p *Pass) Free() {
	for _, b := range []*metal.Buffer{&p.in, &p.z, &p.out, &p.angles, &p.picked, &p.logits} {
		if *b != nil {
			(*b).Free()
			*b = nil
		}
	}
	p.arena.Free()
	if p.pooler != nil {
		p.pooler.Free()
	}
}

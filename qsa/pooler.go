package qsa

import (
	"fmt"
	"slices"

	"github.com/flashlane/flashlane/metal"
)

// Pooler is one goroutine's way to pool blocks: its stream, and a small device buffer for the rope angles of the blocks.
// A verifier's pass, each indexer and the drafter have one of their own, so that none waits for another. It is for one
// goroutine at a time.
type Pooler struct {
	dev    metal.Device
	stream metal.Stream

	spans []metal.PoolSpan
	host  []float32
	angle metal.Buffer

	// What angle holds now: layers of one pass pool the same blocks, so all but the first find their angles there.
	blocks []int
	wanted []int
	ratio  int
	freq   *InvFreq
}

// NewPooler makes a pooler whose work is queued on st. Device memory is allocated when first needed.
func NewPooler(dev metal.Device, st metal.Stream) *Pooler {
	return &Pooler{dev: dev, stream: st}
}

// Bytes is the device memory held.
func (p *Pooler) Bytes() int64 {
	if p.angle == nil {
		return 0
	}
	return 4 * int64(p.angle.Len())
}

// Free releases the memory; queued work must have run.
func (p *Pooler) Free() {
	if p.angle != nil {
		p.angle.Free()
		p.angle, p.freq = nil, nil
	}
}

// add queues n blocks from block on, pooled from raw [positions, Dim] into dst [n, Dim].
func (p *Pooler) add(raw metal.Vec, block, n int, dst metal.Mat) {
	if n > 0 {
		p.spans = append(p.spans, metal.PoolSpan{Raw: raw, Block: block, N: n, Dst: dst})
	}
}

// run pools all queued blocks in one op and forgets them. Errors wrap metal.ErrMemory; nothing is pooled then.
func (p *Pooler) run(ix *Indexer) error {
	defer func() { p.spans = p.spans[:0] }()
	total := 0
	for i := range p.spans {
		total += p.spans[i].N
	}
	if total == 0 {
		return nil
	}
	if err := p.angles(ix, total); err != nil {
		return fmt.Errorf("qsa: layer %d: angles of %d blocks: %w", ix.Layer, total, err)
	}
	at, cols := 0, ix.Freq.Rotary()
	for i := range p.spans {
		p.spans[i].Angle = metal.Mat{Buf: p.angle, Off: at * cols, Rows: p.spans[i].N, Cols: cols, Stride: cols}
		at += p.spans[i].N
	}
	p.stream.Pool(ix.Norm, ix.Dim, ix.Ratio, ix.Eps, p.spans)
	return nil
}

// angles brings the angles of all queued blocks to the device, at each block's first position.
func (p *Pooler) angles(ix *Indexer, total int) error {
	p.wanted = p.wanted[:0]
	for i := range p.spans {
		for b := range p.spans[i].N {
			p.wanted = append(p.wanted, p.spans[i].Block+b)
		}
	}
	if p.freq == ix.Freq && p.ratio == ix.Ratio && slices.Equal(p.blocks, p.wanted) {
		return nil
	}
	cols := ix.Freq.Rotary()
	if err := p.room(total * cols); err != nil {
		return err
	}
	p.host = p.host[:0]
	for i, b := range p.wanted {
		p.host = slices.Grow(p.host, cols)[:(i+1)*cols]
		ix.Freq.Angles(p.host[i*cols:], b*ix.Ratio)
	}
	p.stream.Write(metal.Vec{Buf: p.angle, N: total * cols}, p.host)
	p.blocks, p.wanted = p.wanted, p.blocks
	p.ratio, p.freq = ix.Ratio, ix.Freq
	return nil
}

// room makes the angle buffer hold n values, at least doubling it.
func (p *Pooler) room(n int) error {
	if p.angle != nil && p.angle.Len() >= n {
		return nil
	}
	size := n
	if p.angle != nil {
		size = max(n, 2*p.angle.Len())
	}
	b, err := p.dev.Alloc(metal.F32, size)
	if err != nil {
		return err
	}
	if p.angle != nil {
		if err := p.stream.Sync(); err != nil { // queued work reads the old one
			b.Free()
			return err
		}
		p.angle.Free()
	}
	p.angle, p.freq = b, nil
	return nil
}

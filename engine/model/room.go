package model

import (
	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/metal"
)

// room is a buffer of rows that grows to the most rows ever wanted at once, in powers of two. Growing loses the content.
type room struct {
	cols int
	rows int
	buf  metal.Buffer
}

func (r *room) want(dev metal.Device, rows int) error {
	if rows <= r.rows {
		return nil
	}
	n := 1
	for n < rows {
		n *= 2
	}
	b, err := dev.Alloc(metal.F32, n*r.cols)
	if err != nil {
		return err
	}
	r.free()
	r.buf, r.rows = b, n
	return nil
}

// mat is rows [from, from+n).
func (r *room) mat(from, n int) metal.Mat {
	return metal.Mat{Buf: r.buf, Off: from * r.cols, Rows: n, Cols: r.cols, Stride: r.cols}
}

func (r *room) free() {
	if r.buf != nil {
		r.buf.Free()
	}
	r.buf, r.rows = nil, 0
}

// held is what a commit needs of a gated-delta-net layer's drafted rows.
type held struct {
	pre, post, beta, decay room
}

func newHeld(channels, heads int) held {
	return held{pre: room{cols: channels}, post: room{cols: channels}, beta: room{cols: heads}, decay: room{cols: heads}}
}

func (h *held) want(dev metal.Device, rows int) error {
	for _, r := range []*room{&h.pre, &h.post, &h.beta, &h.decay} {
		if err := r.want(dev, rows); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) mat(from, n int) block.DeltaRows {
	return block.DeltaRows{Pre: h.pre.mat(from, n), Post: h.post.mat(from, n), Beta: h.beta.mat(from, n), Decay: h.decay.mat(from, n)}
}

func (h *held) free() {
	for _, r := range []*room{&h.pre, &h.post, &h.beta, &h.decay} {
		r.free()
	}
}

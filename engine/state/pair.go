package state

import "github.com/flashlane/flashlane/metal"

// Pair is a state that cannot be cut to a length: the committed value and a second buffer of the same size that a pass
// or a commit writes.
type Pair struct {
	cur, next metal.Buffer
}

func newPair(dev metal.Device, n int) (Pair, error) {
	cur, err := dev.Alloc(metal.F32, n)
	if err != nil {
		return Pair{}, err
	}
	next, err := dev.Alloc(metal.F32, n)
	if err != nil {
		cur.Free()
		return Pair{}, err
	}
	return Pair{cur: cur, next: next}, nil
}

// Now is the committed value.
func (p *Pair) Now() metal.Vec { return metal.NewVec(p.cur) }

// Next is the other buffer; its content means nothing until Swap.
func (p *Pair) Next() metal.Vec { return metal.NewVec(p.next) }

// Swap makes Next the committed value.
func (p *Pair) Swap() { p.cur, p.next = p.next, p.cur }

func (p *Pair) bytes() int64 {
	if p.cur == nil {
		return 0
	}
	return 4 * int64(p.cur.Len()+p.next.Len())
}

func (p *Pair) free() {
	if p.cur != nil {
		p.cur.Free()
		p.next.Free()
	}
	*p = Pair{}
}

// Recurrent is what a gated-delta-net layer keeps: State [ValueHeads, KeyDim, ValueDim] and Tail, the last
// pre-convolution rows [taps-1, channels].
type Recurrent struct {
	RecurrentShape
	State Pair
	Tail  Tail
}

// Tail is the rows a causal convolution looks back on, oldest first; a fresh tail is zero.
type Tail struct {
	TailShape
	Pair
}

func newRecurrent(dev metal.Device, s RecurrentShape) (*Recurrent, error) {
	r := &Recurrent{RecurrentShape: s}
	var err error
	if r.State, err = newPair(dev, s.Delta.ValueHeads*s.Delta.KeyDim*s.Delta.ValueDim); err != nil {
		return nil, err
	}
	t, err := newTail(dev, s.Tail)
	if err != nil {
		r.State.free()
		return nil, err
	}
	r.Tail = *t
	return r, nil
}

func (r *Recurrent) free() {
	r.State.free()
	r.Tail.free()
}

func newTail(dev metal.Device, s TailShape) (*Tail, error) {
	p, err := newPair(dev, s.Rows*s.Cols)
	if err != nil {
		return nil, err
	}
	return &Tail{TailShape: s, Pair: p}, nil
}

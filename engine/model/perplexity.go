package model

import (
	"context"
	"fmt"
	"math"

	"github.com/flashlane/flashlane/engine/state"
)

// Loss is how surprised a model was by a text.
type Loss struct {
	Tokens int     // predicted; each window's first token is not
	Nats   float64 // sum of -ln p over them
}

// Mean is nats per token.
func (l Loss) Mean() float64 { return l.Nats / float64(max(l.Tokens, 1)) }

// Perplexity is exp of the mean.
func (l Loss) Perplexity() float64 { return math.Exp(l.Mean()) }

// TextLoss runs a text through the trunk with teacher forcing, in windows of so many input tokens that start from an empty
// sequence each: inputs ids[0:window] predict ids[1:window+1], then the next window begins at ids[window]. So every token
// but the first is predicted once, from at most window-1 tokens before it and at least one. The last window may be shorter. The sums run in the order of ids, in
// float64; chunk is the rows of a pass, and changes no bit.
func TextLoss(ctx context.Context, m *Model, ids []int32, window, chunk int) (Loss, error) {
	if err := checkWindow(m, window, chunk); err != nil {
		return Loss{}, fmt.Errorf("model: loss: %w", err)
	}
	p, err := newTextPass(m, min(chunk, window))
	if err != nil {
		return Loss{}, err
	}
	defer p.free()
	var sum Loss
	err = eachWindow(ctx, ids, window, chunk, func(id int32, at int) error {
		row, err := p.logits(at)
		if err != nil {
			return err
		}
		nats, err := surprise(row, id)
		sum.Nats += nats
		sum.Tokens++
		return err
	}, p)
	if err != nil {
		return sum, fmt.Errorf("model: loss: %w", err)
	}
	return sum, nil
}

func checkWindow(m *Model, window, chunk int) error {
	if window < 1 || window > m.Context() {
		return fmt.Errorf("window: got %d tokens, want 1 to %d", window, m.Context())
	}
	if chunk < 1 {
		return fmt.Errorf("chunk: got %d rows, want at least 1", chunk)
	}
	return nil
}

// textPass runs texts through a trunk, a chunk at a time.
type textPass struct {
	pass *Pass
	seq  *state.Sequence
	seg  *Segment
	row  []float32
}

func newTextPass(m *Model, chunk int) (*textPass, error) {
	p, err := m.NewPass(chunk)
	if err != nil {
		return nil, err
	}
	return &textPass{pass: p, row: make([]float32, m.Config.Vocab)}, nil
}

func (p *textPass) free() { p.pass.Free() }

// run takes ids[from:to] through the trunk.
func (p *textPass) run(ctx context.Context, ids []int32, from, to int) error {
	p.seg = &Segment{Seq: p.seq, Tokens: ids[from:to], History: ids[:from], Class: Prompt, Logits: LogitsAll}
	return p.pass.Run(ctx, []*Segment{p.seg})
}

// logits are those of row i of the chunk, until the next call.
func (p *textPass) logits(i int) ([]float32, error) { return p.row, p.pass.LogitsRow(p.row, p.seg, i) }

// keep makes the chunk part of the sequence.
func (p *textPass) keep() error {
	if err := p.pass.Commit(p.seg, len(p.seg.Tokens)); err != nil {
		return err
	}
	return p.pass.Settle(p.seg)
}

// eachWindow takes a text through all passes in step, window by window, and calls predicted for each token with its place in the
// chunk whose logits the passes then have.
func eachWindow(ctx context.Context, ids []int32, window, chunk int, predicted func(id int32, at int) error, passes ...*textPass) error {
	for from := 0; from+1 < len(ids); from += window {
		if err := oneWindow(ctx, ids[from:min(from+window+1, len(ids))], chunk, predicted, passes); err != nil {
			return fmt.Errorf("window at token %d: %w", from, err)
		}
	}
	return nil
}

func oneWindow(ctx context.Context, ids []int32, chunk int, predicted func(id int32, at int) error, passes []*textPass) error {
	for _, p := range passes {
		seq, err := p.pass.m.NewSequence()
		if err != nil {
			return err
		}
		p.seq = seq
		defer seq.Release()
	}
	for from := 0; from+1 < len(ids); from += chunk {
		to := min(from+chunk, len(ids)-1)
		for _, p := range passes {
			if err := p.run(ctx, ids, from, to); err != nil {
				return err
			}
		}
		for i := range to - from {
			if err := predicted(ids[from+i+1], i); err != nil {
				return fmt.Errorf("position %d: %w", from+i, err)
			}
		}
		for _, p := range passes {
			if err := p.keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// surprise is -ln softmax(logits)[id].
func surprise(logits []float32, id int32) (float64, error) {
	if id < 0 || int(id) >= len(logits) {
		return 0, fmt.Errorf("id: got %d, want 0 to %d", id, len(logits)-1)
	}
	norm, err := logOfSum(logits)
	return norm - float64(logits[id]), err
}

// logOfSum is ln of the sum of exp(x).
func logOfSum(logits []float32) (float64, error) {
	top := math.Inf(-1)
	for i, x := range logits {
		if x-x != 0 {
			return 0, fmt.Errorf("logit of id %d: got %v, want a finite value", i, x)
		}
		top = max(top, float64(x))
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	return top + math.Log(sum), nil
}

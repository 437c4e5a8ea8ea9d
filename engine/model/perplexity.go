package model

import (
	"context"
	"fmt"
	"math"
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
	if window < 1 || window > m.Context() {
		return Loss{}, fmt.Errorf("model: loss: window: got %d tokens, want 1 to %d", window, m.Context())
	}
	if chunk < 1 {
		return Loss{}, fmt.Errorf("model: loss: chunk: got %d rows, want at least 1", chunk)
	}
	p, err := m.NewPass(min(chunk, window))
	if err != nil {
		return Loss{}, err
	}
	defer p.Free()
	var sum Loss
	row := make([]float32, m.Config.Vocab)
	for from := 0; from+1 < len(ids); from += window {
		if err := p.windowLoss(ctx, &sum, row, ids[from:min(from+window+1, len(ids))], chunk); err != nil {
			return sum, fmt.Errorf("model: loss: window at token %d: %w", from, err)
		}
	}
	return sum, nil
}

// windowLoss adds the loss of ids[1:], given what is before each.
func (p *Pass) windowLoss(ctx context.Context, sum *Loss, row []float32, ids []int32, chunk int) error {
	seq, err := p.m.NewSequence()
	if err != nil {
		return err
	}
	defer seq.Release()
	for from := 0; from+1 < len(ids); from += chunk {
		to := min(from+chunk, len(ids)-1)
		seg := &Segment{Seq: seq, Tokens: ids[from:to], History: ids[:from], Class: Prompt, Logits: LogitsAll}
		if err := p.Run(ctx, []*Segment{seg}); err != nil {
			return err
		}
		for i := range seg.Tokens {
			if err := p.LogitsRow(row, seg, i); err != nil {
				return err
			}
			nats, err := surprise(row, ids[from+i+1])
			if err != nil {
				return fmt.Errorf("position %d: %w", from+i, err)
			}
			sum.Nats += nats
			sum.Tokens++
		}
		if err := p.Commit(seg, len(seg.Tokens)); err != nil {
			return err
		}
		if err := p.Settle(seg); err != nil {
			return err
		}
	}
	return nil
}

// surprise is -ln softmax(logits)[id].
func surprise(logits []float32, id int32) (float64, error) {
	if id < 0 || int(id) >= len(logits) {
		return 0, fmt.Errorf("id: got %d, want 0 to %d", id, len(logits)-1)
	}
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
	return top + math.Log(sum) - float64(logits[id]), nil
}

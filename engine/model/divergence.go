package model

import (
	"context"
	"fmt"
	"math"
)

// Divergence is how far a model's predictions are from those of a reference on a text.
type Divergence struct {
	Tokens int     // predicted
	Nats   float64 // sum of KL(reference || model) over them
	Worst  float64 // the largest
	Same   int     // tokens for which both hold the same id most likely
}

// Mean is nats per token.
func (d Divergence) Mean() float64 { return d.Nats / float64(max(d.Tokens, 1)) }

// Add counts e in.
func (d *Divergence) Add(e Divergence) {
	d.Tokens, d.Nats, d.Worst, d.Same = d.Tokens+e.Tokens, d.Nats+e.Nats, max(d.Worst, e.Worst), d.Same+e.Same
}

// TextDivergence compares what two models of one vocabulary predict on a text, in the windows of TextLoss.
func TextDivergence(ctx context.Context, reference, m *Model, ids []int32, window, chunk int) (Divergence, error) {
	fail := func(err error) (Divergence, error) { return Divergence{}, fmt.Errorf("model: divergence: %w", err) }
	for _, m := range []*Model{reference, m} {
		if err := checkWindow(m, window, chunk); err != nil {
			return fail(err)
		}
	}
	if reference.Config.Vocab != m.Config.Vocab {
		return fail(fmt.Errorf("vocabulary: got %d ids, want %d as the reference has", m.Config.Vocab, reference.Config.Vocab))
	}
	p, err := newTextPass(reference, min(chunk, window))
	if err != nil {
		return fail(err)
	}
	defer p.free()
	q, err := newTextPass(m, min(chunk, window))
	if err != nil {
		return fail(err)
	}
	defer q.free()
	var sum Divergence
	err = eachWindow(ctx, ids, window, chunk, func(_ int32, at int) error {
		a, err := p.logits(at)
		if err != nil {
			return err
		}
		b, err := q.logits(at)
		if err != nil {
			return err
		}
		nats, same, err := divergence(a, b)
		if err != nil {
			return err
		}
		sum.Tokens++
		sum.Nats += nats
		sum.Worst = max(sum.Worst, nats)
		if same {
			sum.Same++
		}
		return nil
	}, p, q)
	if err != nil {
		return fail(err)
	}
	return sum, nil
}

// divergence is KL(softmax(a) || softmax(b)), and whether both have their largest logit at the same id.
func divergence(a, b []float32) (nats float64, same bool, err error) {
	normA, err := logOfSum(a)
	if err != nil {
		return 0, false, err
	}
	normB, err := logOfSum(b)
	if err != nil {
		return 0, false, err
	}
	topA, topB := 0, 0
	for i := range a {
		lnP, lnQ := float64(a[i])-normA, float64(b[i])-normB
		nats += math.Exp(lnP) * (lnP - lnQ)
		if a[i] > a[topA] {
			topA = i
		}
		if b[i] > b[topB] {
			topB = i
		}
	}
	return nats, topA == topB, nil
}

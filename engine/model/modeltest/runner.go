package modeltest

import (
	"context"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/state"
)

// Runner drives one sequence, with its ledger of committed tokens.
type Runner struct {
	T      testing.TB
	Model  *model.Model
	Pass   *model.Pass
	Seq    *state.Sequence
	Ledger []int32
}

// NewRunner returns an empty sequence and a pass for maxRows rows; both are freed when the test ends.
func NewRunner(t testing.TB, m *model.Model, maxRows int) *Runner {
	t.Helper()
	p, err := m.NewPass(maxRows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Free)
	r := &Runner{T: t, Model: m, Pass: p}
	r.Seq = NewSequence(t, m)
	return r
}

// NewSequence returns an empty sequence; it is released when the test ends.
func NewSequence(t testing.TB, m *model.Model) *state.Sequence {
	t.Helper()
	s, err := m.NewSequence()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Release)
	return s
}

// Segment is the next tokens of the sequence as a segment.
func (r *Runner) Segment(tokens []int32, draft bool, mode model.LogitsMode) *model.Segment {
	return &model.Segment{Seq: r.Seq, Tokens: tokens, History: r.Ledger, Draft: draft, Logits: mode}
}

// Run runs segments, which may be of several runners, in this runner's pass.
func (r *Runner) Run(segs ...*model.Segment) {
	r.T.Helper()
	if err := r.Pass.Run(context.Background(), segs); err != nil {
		r.T.Fatal(err)
	}
}

// Commit commits a segment that ran in pass p and notes its tokens.
func (r *Runner) Commit(p *model.Pass, seg *model.Segment, keep int) {
	r.T.Helper()
	if err := p.Commit(seg, keep); err != nil {
		r.T.Fatal(err)
	}
	r.Ledger = append(r.Ledger, seg.Tokens[:keep]...)
}

// Logits reads the logits of a segment's rows: all of them, or the last.
func Logits(t testing.TB, m *model.Model, p *model.Pass, seg *model.Segment) [][]float32 {
	t.Helper()
	var out [][]float32
	from := 0
	switch seg.Logits {
	case model.LogitsNone:
		return nil
	case model.LogitsLast:
		from = len(seg.Tokens) - 1
	}
	for r := from; r < len(seg.Tokens); r++ {
		f := make([]float32, m.Config.Vocab)
		if err := p.LogitsRow(f, seg, r); err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// Feed prefills tokens in chunks cut at absolute multiples of chunk and returns the logits of all of them, or of the
// last, or none.
func (r *Runner) Feed(tokens []int32, chunk int, mode model.LogitsMode) [][]float32 {
	r.T.Helper()
	var out [][]float32
	for len(tokens) > 0 {
		n := min(len(tokens), chunk-r.Seq.Len%chunk)
		m := mode
		if m == model.LogitsLast && n < len(tokens) {
			m = model.LogitsNone
		}
		seg := r.Segment(tokens[:n], false, m)
		r.Run(seg)
		out = append(out, Logits(r.T, r.Model, r.Pass, seg)...)
		r.Commit(r.Pass, seg, n)
		tokens = tokens[n:]
	}
	return out
}

// ArgMax is the lowest index of the largest value.
func ArgMax(f []float32) int32 {
	best := 0
	for i, x := range f {
		if x > f[best] {
			best = i
		}
	}
	return int32(best)
}

// MaxDiff is the largest absolute difference.
func MaxDiff(a, b []float32) float64 {
	d := 0.0
	for i := range a {
		x := float64(a[i]) - float64(b[i])
		if x < 0 {
			x = -x
		}
		if !(x <= d) { // a NaN counts as the largest
			d = x
		}
	}
	return d
}

package decode

import (
	"context"
	"fmt"
	"time"

	"github.com/flashlane/flashlane/bench/ops"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/state"
)

// Options of Measure.
type Options struct {
	Prompt []int32
	Tokens int // to generate; stop ids do not stop
	Depth  int // drafts per round; 0 without a head
	Chunk  int // rows of a prefill chunk
	Repeat int // whole runs, the first of which warms up and is not counted; at least 1 more is
}

// The phases, in the order of a sequence's life.
var phases = []string{"prefill", "prime", "draft", "verify", "commit"}

// Run is what was measured, summed over the runs.
type Run struct {
	Runs   int
	Prompt int
	Tokens int // generated, without the first, which is of the prefill
	Rounds int
	Wall   map[string]time.Duration // per phase
	Ops    []ops.Line
	Out    []int32 // generated ids of the last run, the first token included
}

// Measure runs the bundle, whose device must be dev.
func Measure(ctx context.Context, b *bundle.Bundle, dev *ops.Device, o Options) (*Run, error) {
	switch {
	case len(o.Prompt) < 2 || o.Tokens < 2 || o.Chunk < 1 || o.Repeat < 1:
		return nil, fmt.Errorf("decode: prompt of %d, %d tokens, chunks of %d, %d runs: want at least 2, 2, 1 and 1", len(o.Prompt), o.Tokens, o.Chunk, o.Repeat)
	case len(o.Prompt)+o.Tokens+o.Depth+1 > b.Model.Context():
		return nil, fmt.Errorf("decode: a prompt of %d and %d tokens do not fit the context of %d", len(o.Prompt), o.Tokens, b.Model.Context())
	case o.Depth > 0 && b.Head == nil:
		return nil, fmt.Errorf("decode: depth %d: %s", o.Depth, b.HeadReason)
	}
	l, err := newLoop(b, dev, o)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	defer l.free()
	for i := range o.Repeat + 1 {
		if i == 1 {
			dev.Meter.Reset()
			l.run = Run{Runs: o.Repeat, Wall: map[string]time.Duration{}}
		}
		if err := l.once(ctx); err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
	}
	l.run.Ops = dev.Meter.Lines()
	return &l.run, nil
}

// loop is one sequence after the other.
type loop struct {
	o     Options
	b     *bundle.Bundle
	meter *ops.Meter
	pass  *model.Pass
	head  *mtp.Pass
	seq   *state.Sequence
	host  []float32
	run   Run

	ledger []int32
	kept   *state.Kept // rows that the drafter has not caught up with
	next   []int32     // their next tokens
}

func newLoop(b *bundle.Bundle, dev *ops.Device, o Options) (l *loop, err error) {
	l = &loop{o: o, b: b, meter: dev.Meter, host: make([]float32, b.Model.Config.Vocab), run: Run{Wall: map[string]time.Duration{}}}
	if l.pass, err = b.Model.NewPass(max(o.Chunk, o.Depth+1)); err != nil {
		return nil, err
	}
	if o.Depth > 0 {
		if l.head, err = b.Head.NewPass(max(o.Chunk, o.Depth+1)); err != nil {
			l.pass.Free()
			return nil, err
		}
	}
	return l, nil
}

func (l *loop) free() {
	l.meter.Phase("")
	l.kept.Free()
	if l.seq != nil {
		l.seq.Release()
	}
	if l.head != nil {
		l.head.Free()
	}
	l.pass.Free()
}

// timed runs fn as a phase.
func (l *loop) timed(phase string, fn func() error) error {
	l.meter.Phase(phase)
	begin := time.Now()
	err := fn()
	l.run.Wall[phase] += time.Since(begin)
	l.meter.Phase("")
	return err
}

// once prefills and generates.
func (l *loop) once(ctx context.Context) (err error) {
	l.kept.Free()
	l.kept = nil
	if l.seq != nil {
		l.seq.Release()
		l.seq = nil
	}
	if l.seq, err = l.b.Model.NewSequence(); err != nil {
		return err
	}
	if l.head != nil {
		if err = l.b.Head.Attach(l.seq); err != nil {
			return err
		}
	}
	l.ledger = append(l.ledger[:0], l.o.Prompt...)
	token, err := l.prefill(ctx)
	if err != nil {
		return err
	}
	l.run.Prompt += len(l.o.Prompt)
	l.run.Out = append(l.run.Out[:0], token)
	for left := l.o.Tokens - 1; left > 0; {
		var n int
		if token, n, err = l.round(ctx, token, left); err != nil {
			return err
		}
		left -= n
		l.run.Rounds++
		l.run.Tokens += n
	}
	return nil
}

// prefill gives the first token.
func (l *loop) prefill(ctx context.Context) (token int32, err error) {
	ids := l.o.Prompt
	for from := 0; from < len(ids); from += l.o.Chunk {
		to := min(from+l.o.Chunk, len(ids))
		last := to == len(ids)
		seg := &model.Segment{Seq: l.seq, Tokens: ids[from:to], History: ids[:from], Class: model.Prompt}
		if last {
			seg.Logits = model.LogitsLast
		}
		if err := l.timed("prefill", func() error {
			if err := l.pass.Run(ctx, []*model.Segment{seg}); err != nil {
				return err
			}
			if last {
				if token, err = l.sample(seg, to-from-1); err != nil {
					return err
				}
			}
			if err := l.pass.Commit(seg, to-from); err != nil {
				return err
			}
			return l.pass.Settle(seg)
		}); err != nil {
			return 0, err
		}
		if err := l.prime(ctx, seg, ids, from, to, token); err != nil {
			return 0, err
		}
	}
	return token, nil
}

// prime has the drafter catch up with a chunk; its very last row is left to the first draft.
func (l *loop) prime(ctx context.Context, seg *model.Segment, ids []int32, from, to int, token int32) error {
	if l.head == nil {
		return nil
	}
	return l.timed("prime", func() (err error) {
		n := to - from
		if to == len(ids) {
			n--
			if l.kept, err = l.pass.Keep(seg, n, 1); err != nil {
				return err
			}
			l.next = append(l.next[:0], token)
		}
		if n == 0 {
			return nil
		}
		kept, err := l.pass.Keep(seg, 0, n)
		if err != nil {
			return err
		}
		defer kept.Free()
		return l.head.Prime(ctx, []mtp.Job{{Seq: l.seq, Kept: kept, Next: ids[from+1 : from+1+n]}})
	})
}

func (l *loop) sample(seg *model.Segment, row int) (int32, error) {
	if err := l.pass.LogitsRow(l.host, seg, row); err != nil {
		return 0, err
	}
	return argmax(l.host), nil
}

// argmax is the lowest index of the largest value.
func argmax(f []float32) int32 {
	best := 0
	for i, v := range f {
		if v > f[best] {
			best = i
		}
	}
	return int32(best)
}

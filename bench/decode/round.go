package decode

import (
	"context"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
)

// round takes one committed token to the next ones, at most left, and returns the last of them.
func (l *loop) round(ctx context.Context, token int32, left int) (next int32, n int, err error) {
	rows := []int32{token}
	if depth := min(l.o.Depth, left-1); depth > 0 {
		if rows, err = l.draft(ctx, rows, depth); err != nil {
			return 0, 0, err
		}
	}
	seg := &model.Segment{Seq: l.seq, Tokens: rows, History: l.ledger, Draft: true, Logits: model.LogitsAll}
	keep := 0
	err = l.timed("verify", func() error {
		if err := l.pass.Run(ctx, []*model.Segment{seg}); err != nil {
			return err
		}
		for keep < len(rows) {
			if next, err = l.sample(seg, keep); err != nil {
				return err
			}
			keep++
			l.run.Out = append(l.run.Out, next)
			if keep == len(rows) || rows[keep] != next {
				break
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return next, keep, l.timed("commit", func() error { return l.commit(seg, keep, next) })
}

// draft catches the drafter up and lets it propose.
func (l *loop) draft(ctx context.Context, rows []int32, depth int) ([]int32, error) {
	jobs := []mtp.Job{{Seq: l.seq, Kept: l.kept, Next: l.next, Depth: depth, Propose: func(_ int, logits []float32) (int32, error) {
		id := argmax(logits)
		rows = append(rows, id)
		return id, nil
	}}}
	err := l.timed("draft", func() error { return l.head.Draft(ctx, jobs) })
	if err == nil {
		err = jobs[0].Err
	}
	return rows, err
}

// commit keeps the accepted rows, here and for the drafter.
func (l *loop) commit(seg *model.Segment, keep int, next int32) (err error) {
	if err := l.pass.Commit(seg, keep); err != nil {
		return err
	}
	l.ledger = append(l.ledger, seg.Tokens[:keep]...)
	if l.head != nil {
		// A round that did not draft leaves its rows for the next one that does.
		if l.kept.Pos+l.kept.Rows == l.seq.MTP.Len {
			l.kept.Free()
			if l.kept, err = l.pass.Keep(seg, 0, keep); err != nil {
				return err
			}
			l.next = append(append(l.next[:0], seg.Tokens[1:keep]...), next)
		}
	}
	return l.pass.Settle(seg)
}

package mtp

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// draft is Draft without the checks and the clean-up.
func (p *Pass) draft(ctx context.Context, jobs []Job) error {
	drafting, rows := 0, 0
	for i := range jobs {
		if jobs[i].Depth > 0 {
			drafting++
			rows += jobs[i].Kept.Rows
		}
	}
	if drafting > p.maxRows {
		return fmt.Errorf("%w: got %d jobs, want at most %d, the rows of the pass", ErrJob, drafting, p.maxRows)
	}
	// Drafting jobs keep their rows for the step that answers, or the last row if all are too many.
	err := p.catchUp(ctx, jobs, func(j *Job) int {
		switch {
		case j.Depth == 0:
			return 0
		case rows > p.maxRows:
			return 1
		}
		return j.Kept.Rows
	})
	if err != nil {
		return err
	}
	p.begin()
	for i := range jobs {
		j := &jobs[i]
		if j.Depth == 0 {
			continue
		}
		n := j.Kept.Rows
		if rows > p.maxRows {
			n = 1
		}
		from := j.Kept.Rows - n
		p.add(j, j.Kept.Pos+from, j.Kept.X.RowsOf(from, n), j.Next[from:]...)
	}
	if p.used() > 0 {
		if err := p.step(ctx, true); err != nil {
			return err
		}
	}
	if err := p.commit(jobs); err != nil {
		return err
	}
	return p.chain(ctx)
}

// chain proposes a draft for each row answered and goes on with those that want more.
func (p *Pass) chain(ctx context.Context) error {
	for step := 0; len(p.steps) > 0; step++ {
		if step > 0 {
			if err := p.step(ctx, true); err != nil {
				return err
			}
		}
		n := len(p.steps)
		if p.Probe != nil {
			p.Probe(step, mat(p.out, n, p.h.m.Config.Width()))
		}
		if err := p.room(n); err != nil {
			return err
		}
		p.answer(p.st, n)
		p.alive = append(p.alive[:0], p.steps...)
		p.begin()
		for i := range p.alive {
			if err := p.propose(i, step, &p.alive[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// propose takes draft number step of the i-th row answered, and if more are wanted appends the row that follows from it.
func (p *Pass) propose(i, step int, s *span) error {
	cfg := &p.h.m.Config
	if err := p.st.Read(p.host, mat(p.logits, i+1, cfg.Vocab).Row(i)); err != nil {
		return fmt.Errorf("mtp: %w", err)
	}
	id, err := s.job.Propose(step, p.host)
	if err == nil && id >= 0 {
		err = p.h.known(id)
	}
	if err != nil {
		s.job.Err = fmt.Errorf("mtp: draft %d: %w", step+1, err)
		return nil
	}
	if id < 0 {
		return nil
	}
	s.job.known(step+1, id)
	pos := s.Pos + s.N
	if step+1 < s.job.Depth && pos < s.job.Seq.MTP.Limit() {
		p.add(s.job, pos, mat(p.out, i+1, cfg.Width()).RowsOf(i, 1), id)
	}
	return nil
}

// room makes the logits buffer hold n rows.
func (p *Pass) room(n int) error {
	v := p.h.m.Config.Vocab
	if p.logits != nil && p.logits.Len() >= n*v {
		return nil
	}
	b, err := p.h.m.Device.Alloc(metal.F32, n*v)
	if err != nil {
		return fmt.Errorf("mtp: logits: %w", err)
	}
	if p.logits != nil {
		p.logits.Free()
	}
	p.logits = b
	return nil
}

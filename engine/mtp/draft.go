package mtp

import (
	"context"
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// Prime runs the head over the jobs' kept rows, without drafting, so that the caches cover them (spec 3.3). Jobs of one
// call must be of different sequences. After an error the rows of all jobs must be primed again; the caches are cut back
// to where they were.
func (p *Pass) Prime(ctx context.Context, jobs []Job) error {
	p.passes.Add(1)
	if err := p.admit(jobs); err != nil {
		return err
	}
	if err := p.catchUp(ctx, jobs, none); err != nil {
		return err
	}
	return p.commit(jobs)
}

// Draft catches up with the jobs' kept rows, takes draft 1 from the last of them and chains to each job's depth, all
// sequences side by side (spec 3.4). At the end the caches hold the committed rows only. Jobs of one call must be of
// different sequences. An error of Propose ends that job's chain and is in its Err; an error returned here is of the
// whole pass, and no job may use what it drafted. The caches then hold the kept rows or not, and the next Draft with the
// same Kept is right in either case.
func (p *Pass) Draft(ctx context.Context, jobs []Job) error {
	p.passes.Add(1)
	if err := p.admit(jobs); err != nil {
		return err
	}
	for i := range jobs {
		jobs[i].Err = nil
		jobs[i].known(0, jobs[i].Next[len(jobs[i].Next)-1])
	}
	err := p.draft(ctx, jobs)
	for i := range jobs { // whatever the chain left
		m := jobs[i].Seq.MTP
		m.Truncate(m.Len)
	}
	return err
}

func (j *Job) known(row int, token int32) {
	if j.Known != nil {
		j.Known(row, token)
	}
}

func (p *Pass) admit(jobs []Job) error {
	for i := range jobs {
		if err := p.h.check(&jobs[i]); err != nil {
			return fmt.Errorf("job %d: %w", i, err)
		}
		for j := range i {
			if jobs[j].Seq == jobs[i].Seq {
				return fmt.Errorf("job %d: %w: its sequence is job %d's too", i, ErrJob, j)
			}
		}
	}
	// Rows that are made again replace the old ones.
	for i := range jobs {
		jobs[i].Seq.MTP.Truncate(jobs[i].Kept.Pos)
	}
	return nil
}

// commit makes the kept rows of all jobs part of the caches.
func (p *Pass) commit(jobs []Job) error {
	if err := p.st.Sync(); err != nil {
		return fmt.Errorf("mtp: %w", err)
	}
	for i := range jobs {
		jobs[i].Seq.MTP.Len = jobs[i].Kept.Pos + jobs[i].Kept.Rows
	}
	return nil
}

// catchUp runs the kept rows of each job but the last leave(job) into the caches, as many at once as the pass has room
// for.
func (p *Pass) catchUp(ctx context.Context, jobs []Job, leave func(*Job) int) error {
	p.begin()
	for i := range jobs {
		j := &jobs[i]
		for from, to := 0, j.Kept.Rows-leave(j); from < to; {
			n := min(to-from, p.maxRows-p.used())
			p.add(j, j.Kept.Pos+from, j.Kept.X.RowsOf(from, n), j.Next[from:from+n]...)
			from += n
			if p.used() < p.maxRows {
				continue
			}
			if err := p.step(ctx, false); err != nil {
				return err
			}
			p.begin()
		}
	}
	if p.used() == 0 {
		return nil
	}
	return p.step(ctx, false)
}

func none(*Job) int { return 0 }

func (p *Pass) begin() { p.steps, p.tokens = p.steps[:0], p.tokens[:0] }

func (p *Pass) used() int { return len(p.tokens) }

// add appends rows of a job to the step.
func (p *Pass) add(j *Job, pos int, x metal.Mat, next ...int32) {
	p.steps = append(p.steps, span{
		job: j, src: x, Span: metal.Span{Row: len(p.tokens), N: x.Rows, Pos: pos},
	})
	p.tokens = append(p.tokens, next...)
}

package verifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/indexer"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/metal"
)

// job is one pass on the worker: a batch of drafts, or a chunk of one prompt. It holds a reference on every sequence it
// works on and sends all results itself, so that they arrive even if the actor died meanwhile.
type job struct {
	*Deps
	*Team
	root *actor.RootContext
	self *actor.PID

	batch   []Verify
	post    int  // where it runs: 0 is the whole, then the halves
	crowded bool // other passes run beside it

	prompt   *prefill
	window   *stager.Loan
	from, to int

	segs  []*model.Segment
	banks []bankWork
}

// bankWork is what an indexer is to be told of a pass. It waits until all sessions have their results: what they do next is in the way of the
// next pass, and the banks are not needed before its middle.
type bankWork struct {
	to  *actor.PID
	job indexer.Committed
}

// Fail loses every round of the pass.
func (j *job) Fail(err error) {
	if len(j.batch) > 1 { // whose rows did it is not known; each is tried alone next
		err = fmt.Errorf("%w: %w", round.ErrBystander, err)
	}
	for _, v := range j.batch {
		v.Fail(err)
	}
	if j.prompt != nil {
		j.prompt.Fail(err)
	}
}

// Blame names the request if there is only one.
func (j *job) Blame() string {
	switch {
	case j.prompt != nil:
		return j.prompt.Ticket.Request
	case len(j.batch) == 1:
		return j.batch[0].Ticket.Request
	}
	return ""
}

func (j *job) run() {
	if j.crowded {
		j.Worker.Breathe()
	} else {
		j.Worker.Yield()
	}
	if j.prompt != nil {
		handed, err := j.runChunk()
		j.passed(passed{chunk: j.prompt, handed: handed, err: err})
		return
	}
	rows := 0
	for _, v := range j.batch {
		rows += 1 + len(v.Drafts)
	}
	j.runBatch(j.batch)
	j.passed(passed{post: j.post, rounds: len(j.batch), rows: rows})
}

// passed tells the verifier that the pass has ended.
func (j *job) passed(m passed) {
	m.again = func(m passed) { j.root.Send(j.self, m) }
	m.again(m)
}

// broken gives back what a pass that panicked held. Its sequences are thrown away by their sessions.
func (j *job) broken() {
	for _, s := range j.segs {
		s.Seq.Release()
	}
	for _, v := range j.batch {
		v.Loan.Back()
	}
	if j.prompt != nil {
		j.window.Back()
	}
}

// runBatch verifies drafts side by side. If the pass fails, each is tried alone, so that one sequence's trouble does not
// cost the others their round.
func (j *job) runBatch(batch []Verify) {
	defer j.tellIndexers()
	start := time.Now()
	if batch = j.hold(batch); len(batch) == 0 {
		return
	}
	segs := make([]*model.Segment, len(batch))
	for i := range batch {
		segs[i] = batch[i].segment()
	}
	j.segs = segs
	err := j.Pass.Run(context.Background(), segs)
	if err != nil {
		j.abort()
	}
	for i, v := range batch {
		if err == nil {
			j.judge(v, segs[i], start, i == 0)
			if i < len(batch)-1 {
				j.Worker.Yield() // the session goes on here, the next row on a processor that is idle
			}
		} else if len(batch) == 1 {
			v.Ticket.Lose(j.root, "verifier", err, errors.Is(err, metal.ErrMemory))
		}
	}
	for i, v := range batch {
		segs[i].Seq.Release()
		if err == nil || len(batch) == 1 {
			v.Loan.Back()
		}
	}
	j.segs = nil
	if err != nil && len(batch) > 1 {
		for i := range batch {
			j.runBatch(batch[i : i+1])
		}
	}
}

// hold takes a reference on every sequence and drops the rounds whose session has let go meanwhile.
func (j *job) hold(batch []Verify) []Verify {
	held := make([]Verify, 0, len(batch))
	for _, v := range batch {
		if v.Ticket.Seq.Acquire() {
			held = append(held, v)
			continue
		}
		v.Fail(context.Cause(v.Ticket.Ctx))
	}
	return held
}

func (v *Verify) segment() *model.Segment {
	tokens := make([]int32, 0, 1+len(v.Drafts))
	tokens = append(append(tokens, v.Ledger[len(v.Ledger)-1]), v.Drafts...)
	return &model.Segment{Seq: v.Ticket.Seq, Tokens: tokens, History: v.Ledger[:len(v.Ledger)-1], Window: v.Loan.Window(),
		Banks: v.Banks, Draft: true, Logits: model.LogitsAll, Class: model.Decode, Ask: v.Ask}
}

// abort gives up whatever the pass has not committed.
func (j *job) abort() {
	for _, s := range j.segs {
		j.Pass.Abort(s)
	}
}

// row is the logits of a segment's row, in memory of the verifier's that lives until the same row of the next segment.
func (j *job) row(seg *model.Segment, want, r int) ([]float32, error) {
	for len(j.Logits.rows) <= want {
		j.Logits.rows = append(j.Logits.rows, make([]float32, j.Logits.Vocab))
	}
	err := j.Pass.LogitsRow(j.Logits.rows[want], seg, r)
	return j.Logits.rows[want], err
}

// judge samples the rows of one sequence, commits what was accepted and tells everyone.
func (j *job) judge(v Verify, seg *model.Segment, start time.Time, lead bool) {
	t := v.Ticket
	rows := make([]verify.Row, len(seg.Tokens))
	for r := range rows {
		logits, err := j.row(seg, r, r)
		if err != nil {
			j.lose(v, seg, err)
			return
		}
		rows[r] = verify.Row{Logits: logits, Draft: verify.NoDraft}
		if r < len(v.Drafts) {
			rows[r].Draft = v.Drafts[r]
		}
		if r < len(v.Dists) {
			rows[r].Q = v.Dists[r]
		}
	}
	if t.Grammar != nil {
		masks := j.Logits.allow(len(rows))
		t.Grammar.Allow(v.Drafts, masks)
		for r := range rows {
			rows[r].Allow = masks[r]
		}
	}
	res, err := verify.Accept(t.Settings.Rule, t.Verifier, t.History, len(v.Ledger), rows,
		verify.Limits{MaxTokens: v.Limit, Stop: t.Settings.Stop})
	if err != nil {
		j.lose(v, seg, err)
		return
	}
	keep := len(res.Tokens)
	if err := follow(t, res.Tokens...); err != nil {
		j.lose(v, seg, err)
		return
	}
	if err := j.Pass.Commit(seg, keep); err != nil {
		t.Lose(j.root, "verifier", err, false)
		return
	}
	c := Committed{Ticket: t, Tokens: res.Tokens, Drafted: len(v.Drafts), Width: len(j.segs), Lead: lead, Result: res, Lanes: v.Lanes, Windows: 1, Times: v.Times}
	c.Times.Wait = seg.WindowWait + seg.BankWait
	c.Fails = j.count(t.Request, v.Lanes, seg)
	if err := j.finish(&c, seg, keep); err != nil {
		t.Lose(j.root, "verifier", err, errors.Is(err, metal.ErrMemory))
		return
	}
	j.House.Tokens.Add(int64(keep))
	j.House.Progress.Add(int64(keep))
	c.Times.Verify = time.Since(start) // the pass and all that follows from it up to here
	j.tell(c)
}

func (j *job) lose(v Verify, seg *model.Segment, err error) {
	j.Pass.Abort(seg)
	v.Ticket.Lose(j.root, "verifier", err, errors.Is(err, sample.ErrNotFinite))
}

// runChunk runs one chunk of a prompt; handed tells that its streams went to the drafter.
func (j *job) runChunk() (handed bool, err error) {
	defer j.tellIndexers()
	p, start := j.prompt, time.Now()
	t := p.Ticket
	last := j.to == p.Rows
	seg := &model.Segment{Seq: t.Seq, Tokens: p.Ledger[j.from:j.to], History: p.Ledger[:j.from], Window: j.window.Window(), Banks: p.banks, Class: model.Decode}
	if j.from < t.Settings.Prompt {
		seg.Class = model.Prompt
	}
	switch {
	case p.Score:
		seg.Logits = model.LogitsAll
	case last && p.Sample:
		seg.Logits = model.LogitsLast
	}
	if !t.Seq.Acquire() {
		j.window.Back()
		return false, context.Cause(t.Ctx)
	}
	j.segs = []*model.Segment{seg}
	defer func() {
		if j.segs != nil {
			j.segs = nil
			t.Seq.Release()
			j.window.Back()
		}
	}()
	err = j.Pass.Run(t.Ctx, j.segs)
	if err == nil {
		err = j.Pass.Commit(seg, len(seg.Tokens))
	} else {
		j.Pass.Abort(seg)
	}
	if err != nil {
		t.Lose(j.root, "verifier", err, errors.Is(err, metal.ErrMemory))
		return false, err
	}
	j.House.Progress.Add(int64(len(seg.Tokens)))
	bits := j.Board.Bits() // read once: the chunk is one window
	if j.window == nil {
		bits = bits.With(lanes.PLE, false)
	}
	fails := j.count(t.Request, bits, seg)
	p.chunks++
	p.fails[0] += fails[0]
	p.fails[1] += fails[1]
	p.times.Verify += time.Since(start)
	p.times.Wait += seg.WindowWait + seg.BankWait

	c := Committed{Ticket: t, Lanes: bits, Prefill: true}
	if p.Score {
		if err := j.score(p, seg); err != nil {
			t.Lose(j.root, "verifier", err, errors.Is(err, sample.ErrNotFinite))
			return false, err
		}
	}
	if last && p.Sample {
		tok, err := j.first(p, seg)
		if err != nil {
			t.Lose(j.root, "verifier", err, errors.Is(err, sample.ErrNotFinite))
			return false, err
		}
		c.Tokens = []sample.Token{tok}
		j.House.Tokens.Add(1)
	}
	if err := j.finish(&c, seg, len(seg.Tokens)); err != nil {
		t.Lose(j.root, "verifier", err, errors.Is(err, metal.ErrMemory))
		return false, err
	}
	p.next, p.banks = j.to, c.Banks
	j.root.Send(t.Session, Progress{Request: t.Request, Epoch: t.Epoch, Done: min(j.to, t.Settings.Prompt)})
	if last {
		c.Windows, c.Fails, c.Times = p.chunks, p.fails, p.times
		j.tell(c)
		return false, nil
	}
	if c.Kept != nil {
		j.root.Send(j.Peers().Drafter, Chunk{Ticket: t, Kept: c.Kept, Ledger: p.Ledger, Next: p.Ledger[j.from+1 : j.to+1], From: j.self, Snap: c.Snap, prompt: p, root: j.root})
	}
	return c.Kept != nil, nil
}

// score rates the prompt tokens that follow the chunk's rows.
func (j *job) score(p *prefill, seg *model.Segment) error {
	t := p.Ticket
	s := Scored{Request: t.Request, Epoch: t.Epoch, From: j.from + 1}
	for r := range seg.Tokens {
		at := j.from + r + 1
		if at >= t.Settings.Prompt {
			break
		}
		logits, err := j.row(seg, 0, r)
		if err != nil {
			return err
		}
		tok, err := t.Verifier.Describe(logits, at, p.Ledger[at])
		if err != nil {
			return err
		}
		s.Tokens = append(s.Tokens, tok)
	}
	j.root.Send(t.Session, s)
	return nil
}

// first samples the first token from the prompt's last row.
func (j *job) first(p *prefill, seg *model.Segment) (sample.Token, error) {
	logits, err := j.row(seg, 0, len(seg.Tokens)-1)
	if err != nil {
		return sample.Token{}, err
	}
	t := p.Ticket
	var allow []uint64
	if t.Grammar != nil {
		masks := j.Logits.allow(1)
		t.Grammar.Allow(nil, masks)
		allow = masks[0]
	}
	tok, err := t.Verifier.SampleAllowed(logits, p.Rows, t.History, allow)
	if err != nil {
		return sample.Token{}, err
	}
	t.History.Push(tok.ID)
	return tok, follow(t, tok)
}

// follow moves the ticket's grammar over emitted tokens.
func follow(t *round.Ticket, tokens ...sample.Token) error {
	if t.Grammar == nil {
		return nil
	}
	for _, tok := range tokens {
		if err := t.Grammar.Commit(tok.ID); err != nil {
			return err
		}
	}
	return nil
}

// finish hands on what the committed rows leave behind: their streams for the drafter, and the banks, to the indexers
// when their lane is in force, else settled here.
func (j *job) finish(c *Committed, seg *model.Segment, n int) error {
	seq := c.Ticket.Seq
	if c.Ticket.Settings.Depth > 0 && seq.MTP != nil {
		kept, err := j.Pass.Keep(seg, 0, n)
		if err != nil {
			return err
		}
		c.Kept = kept
	}
	// A dense pass needed no bank and so waited for none: what the indexers still do for the round before must end before
	// anyone else touches the banks.
	for _, g := range seg.Banks {
		if g != nil {
			<-g.Done()
		}
	}
	if j.prompt != nil {
		j.begin(c, j.prompt, j.from, j.to)
	}
	peers := j.Peers().Indexers
	if !c.Lanes.Has(lanes.QSA) || len(peers) == 0 {
		return j.Pass.Settle(seg)
	}
	c.Banks = make([]*gate.Gate, len(peers))
	for i, pid := range peers {
		c.Banks[i] = gate.New()
		seq.Retain()
		j.banks = append(j.banks, bankWork{pid, indexer.Committed{Ticket: c.Ticket, Len: seq.Len, Gate: c.Banks[i]}})
	}
	return nil
}

// tellIndexers hands the banks of a pass to their indexers, also when the rest of the pass panicked: who holds their gates would wait for ever.
func (j *job) tellIndexers() {
	for _, w := range j.banks {
		j.root.Send(w.to, w.job)
	}
	j.banks = j.banks[:0]
}

// count records waits and fail-overs of a segment by lane.
func (j *job) count(request string, bits lanes.Bits, seg *model.Segment) [2]int {
	var fails [2]int
	if bits.Has(lanes.PLE) && seg.Window != nil {
		fails[lanes.PLE] = seg.Inline
		j.Board.Add(lanes.PLE, wait(seg.WindowWait, seg.Inline))
	}
	if broken := seg.FailOver - fails[lanes.PLE]; broken > 0 || seg.BankWait > 0 {
		fails[lanes.QSA] = max(broken, 0)
		j.Board.Add(lanes.QSA, wait(seg.BankWait, fails[lanes.QSA]))
	}
	for _, l := range lanes.All() {
		if fails[l] > 0 {
			j.House.Log.Warn().Str("lane", l.String()).Str("request", request).Err(seg.Reason).Int("fail_over", fails[l]).Msg("lane window made inline")
		}
	}
	return fails
}

func wait(d time.Duration, fails int) lanes.Use {
	u := lanes.Use{WaitNanos: int64(d), FailOvers: int64(fails)}
	if d > 0 {
		u.Waits = 1
	}
	return u
}

// tell sends a result to the session.
func (j *job) tell(c Committed) {
	c.root = j.root
	j.root.Send(c.Ticket.Session, c)
}

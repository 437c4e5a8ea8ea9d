package drafter

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/engine/grammar"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/ple"
)

// building is a round on its way from Draft to Verify.
type building struct {
	Draft
	d       *Deps
	rows    []int32 // row tokens: the committed one, then the drafts
	drafts  []int32
	dists   []*sample.Dist
	grammar *grammar.Matcher // after the drafts so far
	loan    *stager.Loan
	window  *ple.Window // of the loan
	gate    *gate.Gate
}

// begin opens a round's window when the PLE lane is in force.
func (a *Actor) begin(root *actor.RootContext, m Draft) *building {
	b := &building{Draft: m, d: &a.Deps}
	b.root = root
	if !m.Lanes.Has(lanes.PLE) || a.Peers.Stager == nil {
		return b
	}
	loan, err := a.Windows.Take()
	if err != nil {
		return b // no memory for a window: the pass makes it in its own
	}
	w := loan.Window()
	b.loan = loan
	w.Reset(m.Ledger[:len(m.Ledger)-1], len(m.Ledger)-1)
	b.window, b.gate = w, w.Gate
	return b
}

// propose draws a draft from the head's logits by the verifier's own rules and noise (design, section 4).
func (b *building) propose(step int, logits []float32) (int32, error) {
	t, pos := b.Ticket, len(b.Ledger)+step
	allow := b.allowed()
	tok, err := t.Drafter.SampleAllowed(logits, pos, t.History, allow)
	if err != nil {
		return b.stop(err)
	}
	if t.Settings.Rule == verify.Residual {
		// The draft is a draw from this law by the noise of its position; accepting and resampling use other domains.
		law, err := t.Drafter.DistAllowed(logits, pos, t.History, allow)
		if err != nil {
			return b.stop(err)
		}
		kept := law.Clone()
		b.dists = append(b.dists, &kept)
	}
	b.drafts = append(b.drafts, tok.ID)
	t.History.Push(tok.ID)
	if b.grammar != nil {
		b.grammar.Accept(tok.ID)
	}
	return tok.ID, nil
}

// allowed is the grammar's mask after the drafts so far; nil: any id may come.
func (b *building) allowed() []uint64 {
	g := b.Ticket.Grammar
	if g == nil {
		return nil
	}
	if b.grammar == nil {
		b.grammar = g.Matcher()
	}
	if b.grammar.Any() {
		return nil
	}
	mask := make([]uint64, b.Ticket.Drafter.Vocab().Words())
	b.grammar.Mask(mask)
	return mask
}

// stop ends the proposals: a draft is only a guess, so a bad row of the head must not fail the request.
func (b *building) stop(err error) (int32, error) {
	if errors.Is(err, sample.ErrNotFinite) {
		return -1, nil
	}
	return -1, err
}

func (b *building) popDrafts() {
	for i := len(b.drafts) - 1; i >= 0; i-- {
		b.Ticket.History.Pop(b.drafts[i])
	}
}

// known tells the stager a row as its token becomes known.
func (b *building) known(row int, token int32) {
	b.rows = append(b.rows, token)
	if b.window == nil || b.d.OnDemand {
		return
	}
	b.root.Send(b.d.Peers.Stager, stager.Stage{Ticket: b.Ticket, Window: b.window, Gate: b.gate,
		Tokens: b.rows[row : row+1 : row+1], Last: row == b.Rows-1})
}

// abandon gives the window back: its gate will not be waited for.
func (b *building) abandon() {
	if b.window != nil {
		b.gate.Open(errors.New("round abandoned"))
		b.loan.Back()
	}
}

// send passes the round on.
func (b *building) send() {
	v := verifier.Verify{Ticket: b.Ticket, Ledger: b.Ledger, Drafts: b.drafts, Dists: b.dists, Lanes: b.Lanes,
		Loan: b.loan, Banks: b.Banks, Limit: b.Limit, Alone: b.Alone, Times: b.Times}
	b.finishWindow(&v)
	b.root.Send(b.d.Peers.Verifier, verifier.NewVerify(b.root, v))
}

// finishWindow closes the staging of a round that ended short of its rows, or hands all rows over in mode sync.
func (b *building) finishWindow(v *verifier.Verify) {
	switch {
	case b.window == nil:
	case b.d.OnDemand:
		root, peer := b.root, b.d.Peers.Stager
		s := stager.Stage{Ticket: b.Ticket, Window: b.window, Gate: b.gate, Tokens: b.rows, Last: true}
		v.Ask = func() { root.Send(peer, s) }
	case len(b.rows) < b.Rows:
		b.root.Send(b.d.Peers.Stager, stager.Stage{Ticket: b.Ticket, Window: b.window, Gate: b.gate, Last: true})
	}
}

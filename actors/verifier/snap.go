package verifier

import (
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// Snapshots is where the verifier leaves snapshots, and when it takes them. nil takes none.
type Snapshots struct {
	Tree   *prefix.Tree
	Policy prefix.Policy
	Save   func(ids []int32, h *prefix.Handle) // takes over a handle on what went into the tree
}

// Snap is a snapshot on its way into the tree: the verifier has copied the trunk's part, the drafter adds its own.
type Snap struct {
	to   *Snapshots
	ids  []int32
	part *state.Partial
}

// Finish adds the drafter's caches (nil: it does not draft) and puts the snapshot into the tree. A snapshot that cannot be
// made is no loss but of time; the error says why.
func (s *Snap) Finish(st metal.Stream, m *state.MTPCaches) error {
	if s == nil {
		return nil
	}
	snap, err := s.part.Finish(st, m)
	if err != nil {
		return err
	}
	h, err := s.to.Tree.Insert(s.ids, snap)
	if err == nil {
		s.to.Save(s.ids, h)
	}
	return err
}

// Discard gives the snapshot up.
func (s *Snap) Discard() {
	if s != nil {
		s.part.Discard()
	}
}

// begin takes the trunk's part of a snapshot of the rows committed so far, if one is due there. The pass holds the
// sequence, its banks are at rest.
func (j *job) begin(c *Committed, p *prefill, from, to int) {
	if j.Snapshots == nil || !(j.Snapshots.Policy.Due(from, to, p.Ticket.Settings.Prompt, false) || marked(p.Marks, to)) {
		return
	}
	t, ids := p.Ticket, p.Ledger[:to:to]
	want := prefix.Want{Prompt: t.Settings.Prompt, Drafts: c.Kept != nil}
	if h := j.Snapshots.Tree.At(ids, want); h != nil {
		h.Release() // somebody took it already
		return
	}
	parent := j.Snapshots.Tree.Parent(ids, want)
	defer parent.Release()
	part, err := state.Begin(j.Pass.Stream(), t.Seq, state.TakeOptions{Parent: parent.Snapshot(), Prompt: t.Settings.Prompt, Kept: c.Kept, Account: j.Snapshots.Tree})
	if err != nil {
		j.House.Log.Debug().Err(err).Str("request", t.Request).Int("positions", to).Msg("no snapshot")
		return
	}
	snap := &Snap{to: j.Snapshots, ids: ids, part: part}
	if c.Kept != nil {
		c.Snap = snap
		return
	}
	if err := snap.Finish(j.Pass.Stream(), nil); err != nil {
		j.House.Log.Debug().Err(err).Str("request", t.Request).Int("positions", to).Msg("no snapshot")
	}
}

func marked(marks []int, at int) bool {
	for _, m := range marks {
		if m == at {
			return true
		}
	}
	return false
}

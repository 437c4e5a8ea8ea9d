package actors

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

// store opens sequences and keeps snapshots of finished ones, on a worker with a stream of its own.
type store struct {
	model  *model.Model
	head   *mtp.Head    // nil: nothing drafts
	tree   *prefix.Tree // nil: no snapshots
	policy prefix.Policy
	worker *worker.Worker
	stream metal.Stream
	log    zerolog.Logger
	disk   *disk // nil: snapshots do not outlive the process
}

// Open implements intake.Store.
func (s *store) Open(ledger []int32, prompt int, drafts, fresh bool, done func(intake.Opened)) {
	ok := s.worker.Do(worker.Job{
		Run: func() { done(s.open(ledger, prompt, drafts, fresh)) },
		Broken: func(v any, stack []byte) {
			s.log.Error().Interface("panic", v).Bytes("stack", stack).Msg("sequence could not be opened")
			done(intake.Opened{Err: fmt.Errorf("actors: open sequence: panic: %v", v)})
		},
	})
	if !ok {
		done(intake.Opened{Err: ErrClosed})
	}
}

func (s *store) open(ledger []int32, prompt int, drafts, fresh bool) intake.Opened {
	if s.tree != nil && !fresh {
		h, n := s.lookup(ledger, prefix.Want{Prompt: prompt, Drafts: drafts})
		if h != nil {
			defer h.Release()
			seq, kept, err := state.Restore(s.stream, s.model.Shape, s.model.Device, h.Snapshot(),
				state.RestoreOptions{Drafts: drafts, Shelf: s.model.Shelf})
			if err == nil {
				return intake.Opened{Seq: seq, From: n, Kept: kept}
			}
			s.log.Debug().Err(err).Int("positions", n).Msg("snapshot not restored")
		}
	}
	seq, err := s.model.NewSequence()
	if err != nil {
		return intake.Opened{Err: err}
	}
	if drafts {
		if err := s.head.Attach(seq); err != nil {
			seq.Release()
			return intake.Opened{Err: err}
		}
	}
	return intake.Opened{Seq: seq}
}

// Keep implements intake.Store.
func (s *store) Keep(l intake.Leaving) {
	free := func() {
		l.Kept.Free()
		l.Seq.Release()
	}
	if s.tree == nil || !s.policy.Due(l.Prompt, l.Seq.Len, l.Prompt, true) {
		free()
		return
	}
	ok := s.worker.Do(worker.Job{
		Run: func() {
			defer free()
			if err := s.keep(l); err != nil {
				s.log.Debug().Err(err).Int("positions", l.Seq.Len).Msg("no snapshot")
			}
		},
		Broken: func(v any, stack []byte) {
			s.log.Error().Interface("panic", v).Bytes("stack", stack).Msg("snapshot could not be taken")
		},
	})
	if !ok {
		free()
	}
}

func (s *store) keep(l intake.Leaving) error {
	for _, g := range l.Banks {
		if g != nil {
			<-g.Done()
		}
	}
	o := state.TakeOptions{Prompt: l.Prompt, Kept: l.Kept, Account: s.tree}
	if m := l.Seq.MTP; m == nil || l.Kept == nil || m.Len < l.Kept.Pos {
		o.Kept = nil // rows are missing between: it will not draft
	}
	want := prefix.Want{Prompt: l.Prompt, Drafts: o.Kept != nil}
	parent := s.tree.Parent(l.IDs, want)
	defer parent.Release()
	o.Parent = parent.Snapshot()
	snap, err := state.Take(s.stream, l.Seq, o)
	if err != nil {
		return err
	}
	h, err := s.tree.Insert(l.IDs, snap)
	if err == nil {
		s.save(l.IDs, h)
	}
	return err
}

// lookup finds the longest snapshot, on disk too.
func (s *store) lookup(ids []int32, w prefix.Want) (*prefix.Handle, int) {
	if s.disk == nil {
		return s.tree.Lookup(ids, w)
	}
	h, n, why := prefix.Fetch(context.Background(), s.stream, s.model.Device, s.tree, s.disk.file, ids, w)
	if why != nil {
		s.log.Debug().Err(why).Msg("snapshot not read from disk")
	}
	return h, n
}

// save takes over a handle on a snapshot that came into the tree, and has it written to disk if there is a disk tier.
func (s *store) save(ids []int32, h *prefix.Handle) {
	if s.disk == nil {
		h.Release()
		return
	}
	s.disk.save(ids, h)
}

// evictable lets the accountant give snapshots up for requests.
type evictable struct{ tree *prefix.Tree }

func (e evictable) Bytes() int64            { return e.tree.Stats().Bytes }
func (e evictable) Evict(bytes int64) int64 { return e.tree.Evict(bytes) }

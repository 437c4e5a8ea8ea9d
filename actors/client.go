package actors

import (
	"context"
	"time"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/actors/bus"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/verify"
)

// Check says whether a request of so many positions could ever be admitted; the error is an *accountant.Refusal.
func (s *System) Check(positions int) error {
	return s.books.Check(s.need(positions, s.config.Head != nil))
}

// Submit hands a request over and never blocks. The first event of the output is Accepted or Failed.
func (s *System) Submit(r *intake.Request) *intake.Output {
	out := intake.NewOutput()
	intake.SendSubmit(func(m intake.Submit) { s.actors.Root.Send(s.pids.intake, m) }, s.desk, r, out)
	return out
}

// Cancel ends a request within a round; false if no live request has that id.
func (s *System) Cancel(id, reason string) bool {
	if !s.desk.Live(id) {
		return false
	}
	root, pid := s.actors.Root, s.pids.intake
	intake.SendCancel(func(c intake.Cancel) { root.Send(pid, c) }, id, reason)
	return true
}

// SetLane switches a lane by message and waits for the answer, which comes at once.
func (s *System) SetLane(ctx context.Context, name string, on bool) (lanes.State, error) {
	reply := make(chan lanes.SetReply, 1)
	send := func(m lanes.Set) { s.actors.Root.Send(s.pids.lanes, m) }
	send(lanes.Set{Name: name, Enabled: on, Reply: reply, Again: send})
	select {
	case r := <-reply:
		return r.State, r.Err
	case <-ctx.Done():
		return lanes.State{}, context.Cause(ctx)
	}
}

// Lanes describes the lanes now.
func (s *System) Lanes() []lanes.State {
	var out []lanes.State
	for _, l := range lanes.All() {
		out = append(out, s.board.State(l))
	}
	return out
}

// LaneDefaults is the aux_lane_defaults object of /health.
func (s *System) LaneDefaults() lanes.Defaults { return s.board.Defaults() }

// Actors lists the tree.
func (s *System) Actors() []supervision.Info { return s.house.Register.List() }

// Fault makes an actor panic at its next message (--debug-faults).
func (s *System) Fault(name string) error { return s.FaultAt(name, &supervision.Fault{}) }

// FaultAt makes an actor panic at the messages that f chooses.
func (s *System) FaultAt(name string, f *supervision.Fault) error {
	return s.house.Register.Arm(name, f)
}

// Events is the house's event stream until ctx ends.
func (s *System) Events(ctx context.Context) <-chan bus.Event { return s.house.Bus.Listen(ctx) }

// Ready is nil while requests are served.
func (s *System) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Passes is how many passes the verifier has begun: on all threads, and on half of them beside another one.
type Passes struct{ Whole, Half uint64 }

// Status is the house in figures. It asks no actor.
type Status struct {
	Active, Queued, Slots, QueueLimit int
	Sums                              intake.Sums
	Committed                         int64 // tokens committed, of live requests too
	Drafts                            verify.Stats
	Passes                            Passes
	Loaded                            int64 // bytes of device memory: weights and passes
	Sequences                         int64 // bytes of device memory beyond that and snapshots: live requests, and buffers kept for the next
	Rows                              Rows  // n-gram rows
	Books                             accountant.Figures
	Prefix                            prefix.Stats      // zero without a prefix cache
	Disk                              *prefix.DiskStats // nil without a disk tier
	Uptime                            time.Duration
}

// Status reads the figures.
func (s *System) Status() Status {
	st := Status{Sums: s.totals.Sums(), Committed: s.house.Tokens.Load(), Drafts: s.drafts.Stats(),
		Loaded: s.loaded, Sequences: max(s.config.Model.Device.Used()-s.loaded, 0), Uptime: time.Since(s.start)}
	st.Rows, st.Books = s.rows(), s.books.Figures()
	st.Passes.Whole, _ = s.gear.trunk.Progress()
	for _, half := range s.gear.halves {
		n, _ := half.Progress()
		st.Passes.Half += n
	}
	if s.tree != nil {
		st.Prefix = s.tree.Stats()
	}
	if s.store.disk != nil {
		d := s.store.disk.file.Stats()
		st.Disk = &d
	}
	st.Sequences = max(st.Sequences-st.Prefix.Bytes, 0)
	st.Active, st.Queued = s.desk.Counts()
	st.Slots, st.QueueLimit = s.desk.Limits()
	return st
}

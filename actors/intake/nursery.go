package intake

import (
	"github.com/asynkron/protoactor-go/actor"
)

// Nursery is the parent of all sessions. It only spawns. Should it fail all the same, its children's actors are stopped
// by the restart, mailboxes and all; the sessions themselves live on the desk, and the new incarnation gives each an actor
// again.
type Nursery struct {
	*Deps
	desk  *Desk
	props func(*session) *actor.Props
}

// NewNursery returns a fresh nursery; props wraps a session in the house's supervision.
func NewNursery(desk *Desk, deps *Deps, props func(producer actor.Producer) *actor.Props) *Nursery {
	return &Nursery{Deps: deps, desk: desk, props: func(s *session) *actor.Props {
		return props(func() actor.Actor { return s })
	}}
}

// Receive handles spawn, and adopts orphans after a restart.
func (n *Nursery) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		for _, e := range n.desk.orphans() {
			e.state.orphaned = true
			n.spawn(ctx, spawn{entry: e, desk: n.desk}, e.state)
		}
	case spawn:
		if n.desk.Live(m.entry.request.ID) {
			n.spawn(ctx, m, newSession(n.Deps, n.desk, m.entry))
		}
	}
}

func (n *Nursery) spawn(ctx actor.Context, m spawn, s *session) {
	pid, err := ctx.SpawnNamed(n.props(s), m.entry.request.ID)
	if err != nil {
		n.desk.forget(m.entry.request.ID)
		m.entry.output.Push(Event{Kind: Failed, Err: ErrInternal})
		return
	}
	if why := n.desk.attach(m.entry, s, pid); why != nil {
		root := ctx.ActorSystem().Root
		why.again = func(s stop) { root.Send(pid, s) }
		why.again(*why)
	}
}

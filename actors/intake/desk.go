package intake

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Desk is the table of live requests. It outlives the intake actor, which alone decides; anyone may read the counts.
type Desk struct {
	maxActive, maxQueue int
	room                Room

	mu     sync.Mutex
	live   map[string]*entry
	queue  []*entry
	active int
	served map[string]int // by key: the turn at which it last had one
	turn   int
	shut   bool
	idle   chan struct{} // closed when shut and nothing is live
}

// Room promises memory to requests (actors/accountant).
type Room interface {
	Check(bytes int64) error
	Reserve(id string, bytes int64) bool
	Force(id string, bytes int64)
	Release(id string)
}

// entry is one live request.
type entry struct {
	request *Request
	need    int64 // bytes it may come to hold
	output  *Output
	at      time.Time  // when it was submitted
	session *actor.PID // nil while queued
	state   *session   // what the session is; it outlives its actor
	cancel  *stop      // a cancel: the session may have come after it, or have lost it
}

// NewDesk returns an empty desk: so many requests are worked on at once, so many more wait.
func NewDesk(maxActive, maxQueue int, room Room) *Desk {
	return &Desk{room: room, maxActive: maxActive, maxQueue: maxQueue, live: map[string]*entry{}, served: map[string]int{}, idle: make(chan struct{})}
}

// Limits returns the most active and the most queued requests.
func (d *Desk) Limits() (active, queued int) { return d.maxActive, d.maxQueue }

// Counts returns how many requests are active and queued now.
func (d *Desk) Counts() (active, queued int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active, len(d.queue)
}

// Live reports whether a request of that id is active or queued.
func (d *Desk) Live(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.live[id]
	return ok
}

// admit takes a request in: the entry to start now, or nil if it waits, or why it is refused.
func (d *Desk) admit(s Submit, need int64) (start *entry, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, ErrClosing
	}
	if _, ok := d.live[s.Request.ID]; ok {
		return nil, fmt.Errorf("%w: request id %q is live already", ErrInternal, s.Request.ID)
	}
	e := &entry{request: s.Request, output: s.Output, at: s.At, need: need}
	if err := d.room.Check(need); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	// Who waits is served first: nobody overtakes because it needs less.
	if len(d.queue) == 0 && d.active < d.maxActive && d.room.Reserve(s.Request.ID, need) {
		d.live[s.Request.ID] = e
		d.active++
		d.serve(e)
		return e, nil
	}
	if len(d.queue) >= d.maxQueue {
		return nil, fmt.Errorf("%w: %d active, %d waiting", ErrBusy, d.active, len(d.queue))
	}
	d.live[s.Request.ID] = e
	d.queue = append(d.queue, e)
	return nil, nil
}

// leave takes a finished request out. Its slot is free from then on; the intake is told to fill it.
func (d *Desk) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.live[id]; !ok {
		return
	}
	delete(d.live, id)
	d.active--
	d.room.Release(id)
	d.settle()
}

// settle tells Wait when the last live request is gone.
func (d *Desk) settle() {
	if d.shut && len(d.live) == 0 {
		select {
		case <-d.idle:
		default:
			close(d.idle)
		}
	}
}

// Wait returns when the desk is shut and every request has let go, or with an error after limit.
func (d *Desk) Wait(limit time.Duration) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-d.idle:
		return nil
	case <-t.C:
		active, _ := d.Counts()
		return fmt.Errorf("intake: %d requests still held something after %v", active, limit)
	}
}

// promote takes the request whose turn it is out of the queue, if a slot and its memory are free. With nobody active nothing
// is waited for: the request gets what there is, or the error says that it can never fit.
func (d *Desk) promote() (e *entry, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 || d.active >= d.maxActive || d.shut {
		return nil, nil
	}
	e = d.next()
	if !d.room.Reserve(e.request.ID, e.need) {
		if d.active > 0 {
			return nil, nil // until somebody leaves
		}
		if err = d.room.Check(e.need); err != nil {
			d.unqueue(e)
			delete(d.live, e.request.ID)
			return e, fmt.Errorf("%w: %w", ErrMemory, err)
		}
		d.room.Force(e.request.ID, e.need)
	}
	d.unqueue(e)
	d.active++
	d.serve(e)
	return e, nil
}

// next is whose turn it is: the oldest request of the key that has waited longest for a turn.
func (d *Desk) next() *entry {
	best := d.queue[0]
	for _, e := range d.queue {
		if d.served[e.request.Key] < d.served[best.request.Key] {
			best = e
		}
	}
	return best
}

// unqueue takes an entry out of the queue; false if it is not in it.
func (d *Desk) unqueue(e *entry) bool {
	at := slices.Index(d.queue, e)
	if at < 0 {
		return false
	}
	d.queue = slices.Delete(d.queue, at, at+1)
	return true
}

func (d *Desk) serve(e *entry) {
	d.turn++
	d.served[e.request.Key] = d.turn
}

// forget drops whatever the desk knows of a request that was lost on its way in.
func (d *Desk) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.live[id]
	if !ok {
		return
	}
	delete(d.live, id)
	if !d.unqueue(e) {
		d.active--
		d.room.Release(id)
	}
	d.settle()
}

// withdraw takes a queued request out, or returns the session of an active one. ok is false for an unknown id.
func (d *Desk) withdraw(id string, why stop) (queued *entry, session *actor.PID, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.live[id]
	if !ok {
		return nil, nil, false
	}
	if d.unqueue(e) {
		delete(d.live, id)
		return e, nil, true
	}
	e.cancel = &why
	return nil, e.session, true
}

// attach records a request's session; the stop is one that came before it.
func (d *Desk) attach(e *entry, s *session, pid *actor.PID) *stop {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.session, e.state = pid, s
	return e.cancel
}

// orphans are the live requests whose session had been started.
func (d *Desk) orphans() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*entry
	for _, e := range d.live {
		if e.state != nil {
			out = append(out, e)
		}
	}
	return out
}

// shutting reports whether the desk is closed.
func (d *Desk) shutting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// Abandon tells every live request that it will not be finished, when the house cannot go on. Their sessions are left alone.
func (d *Desk) Abandon(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for id, e := range d.live {
		e.output.Push(Event{Kind: Failed, Err: fmt.Errorf("%w: request %s: %w", ErrInternal, id, err)})
	}
}

// close refuses all that comes and returns everything that is live.
func (d *Desk) close() (queued []*entry, active []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	queued = d.queue
	d.queue = nil
	for _, e := range queued {
		delete(d.live, e.request.ID)
	}
	for id := range d.live {
		active = append(active, id)
	}
	d.settle()
	return queued, active
}

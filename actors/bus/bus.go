package bus

import (
	"context"
	"sync"
	"time"
)

// Event is one thing that happened. Data is a plain struct that marshals to JSON and is not changed after publishing.
type Event struct {
	Type    string    `json:"type"` // "supervision", "lane", "round", "request"
	Time    time.Time `json:"time"`
	Dropped int       `json:"dropped,omitempty"` // events this listener lost just before this one
	Data    any       `json:"data"`
}

// Bus fans events out to listeners. The zero value is ready. It is safe for concurrent use.
type Bus struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

type listener struct {
	ch      chan Event
	dropped int
}

// depth is how many events a slow listener may lag behind before it loses some.
const depth = 256

// Listen returns a channel of events; it is closed when ctx ends.
func (b *Bus) Listen(ctx context.Context) <-chan Event {
	l := &listener{ch: make(chan Event, depth)}
	b.mu.Lock()
	if b.listeners == nil {
		b.listeners = map[*listener]struct{}{}
	}
	b.listeners[l] = struct{}{}
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, l)
		close(l.ch)
	})
	return l.ch
}

// Idle reports whether nobody listens, so that callers may skip building an event.
func (b *Bus) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.listeners) == 0
}

// Publish tells every listener.
func (b *Bus) Publish(kind string, data any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.listeners) == 0 {
		return
	}
	e := Event{Type: kind, Time: time.Now(), Data: data}
	for l := range b.listeners {
		e.Dropped = l.dropped
		select {
		case l.ch <- e:
			l.dropped = 0
		default:
			l.dropped++
		}
	}
}

package gate

import (
	"context"
	"sync"
)

// Gate is a one-shot promise. The zero value is not usable; call New. All methods are safe for concurrent use.
type Gate struct {
	once sync.Once
	done chan struct{}
	err  error
}

// New returns a closed gate.
func New() *Gate { return &Gate{done: make(chan struct{})} }

// Opened returns a gate that is open already, with err.
func Opened(err error) *Gate {
	g := New()
	g.Open(err)
	return g
}

// Open opens the gate with err (nil: the promise is kept). The first call wins. It never blocks.
func (g *Gate) Open(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.done)
	})
}

// Wait blocks until the gate is open and returns its error, or until ctx ends and returns the context's error.
// An open gate wins over an ended context.
func (g *Gate) Wait(ctx context.Context) error {
	select {
	case <-g.done:
		return g.err
	default:
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Done is closed when the gate opens.
func (g *Gate) Done() <-chan struct{} { return g.done }

// Ready reports whether the gate is open.
func (g *Gate) Ready() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Err is the gate's error once it is open; before that it is nil.
func (g *Gate) Err() error {
	if !g.Ready() {
		return nil
	}
	return g.err
}

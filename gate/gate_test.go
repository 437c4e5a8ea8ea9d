package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestOpenOnce(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	g := New()
	if g.Ready() || g.Err() != nil {
		t.Fatalf("new gate: got ready %v err %v, want closed", g.Ready(), g.Err())
	}
	g.Open(first)
	g.Open(second)
	if got := g.Wait(context.Background()); got != first {
		t.Errorf("Wait: got %v, want %v", got, first)
	}
	if got := g.Err(); got != first {
		t.Errorf("Err: got %v, want %v", got, first)
	}
}

func TestWait(t *testing.T) {
	gone := errors.New("client left")
	cases := []struct {
		name string
		open bool
		cut  bool
		want error
	}{
		{"opened later", true, false, nil},
		{"context ends first", false, true, gone},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New()
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				got := make(chan error, 1)
				go func() { got <- g.Wait(ctx) }()
				synctest.Wait()
				if c.open {
					g.Open(nil)
				}
				if c.cut {
					cancel(gone)
				}
				if err := <-got; err != c.want {
					t.Errorf("Wait: got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestOpenWinsOverEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Opened(nil).Wait(ctx); err != nil {
		t.Errorf("Wait on an open gate with an ended context: got %v, want nil", err)
	}
}

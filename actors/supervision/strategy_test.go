package supervision

import (
	"errors"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	cases := []struct {
		n    int
		want time.Duration
	}{{1, 2 * time.Millisecond}, {2, 4 * time.Millisecond}, {5, 32 * time.Millisecond}, {6, 64 * time.Millisecond}, {7, lastBackoff}, {1000, lastBackoff}}
	for _, c := range cases {
		if got := Backoff(c.n); got != c.want {
			t.Errorf("Backoff(%d): got %v, want %v", c.n, got, c.want)
		}
	}
}

func TestRegisterArm(t *testing.T) {
	r := NewRegister()
	r.Add("house/b-2", "b")
	r.Add("house/b-1", "b")
	r.Add("house/a", "a")
	cases := []struct{ name, armed string }{{"b", "house/b-1"}, {"house/b-2", "house/b-2"}, {"a", "house/a"}}
	for _, c := range cases {
		if err := r.Arm(c.name, &Fault{}); err != nil {
			t.Fatal(err)
		}
		if r.get(c.armed).fault.Swap(nil) == nil {
			t.Errorf("Arm(%q): %s is not armed", c.name, c.armed)
		}
	}
	if err := r.Arm("c", &Fault{}); !errors.Is(err, ErrUnknownActor) {
		t.Errorf("Arm of an unknown name: got %v, want ErrUnknownActor", err)
	}
	if got := len(r.List()); got != 3 {
		t.Errorf("List: got %d actors, want 3", got)
	}
}

// TestSettlePaysOnce: a panic keeps its first stack, and the message pays what it owes.
func TestSettlePaysOnce(t *testing.T) {
	var paid []error
	msg := debt(func(err error) { paid = append(paid, err) })
	first := settle(msg, errors.New("boom"))
	if len(paid) != 1 || !errors.Is(paid[0], first) || len(first.Stack) == 0 {
		t.Fatalf("got %v, want one payment with the panic and its stack", paid)
	}
	if again := settle("owes nothing", first); again != first {
		t.Errorf("a panic that comes back: got %v, want the first one, stack and all", again)
	}
}

type debt func(error)

func (d debt) Fail(err error) { d(err) }

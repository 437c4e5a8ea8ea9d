package stager

import (
	"github.com/flashlane/flashlane/actors/round"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/gate"
	"github.com/flashlane/flashlane/ple"
)

// Stage hands the stager the next rows of a window. The sender has reset the window and may not touch it any more; the
// stager pushes Tokens and reads their table rows; with Last it makes all planes and opens Gate. Sent by the drafter and, in prefill, the verifier.
type Stage struct {
	Ticket *round.Ticket
	Window *ple.Window
	Gate   *gate.Gate // the window's gate at Reset
	Tokens []int32
	Last   bool
}

// Fail opens the gate: the pass that waits on it makes the window inline.
func (s Stage) Fail(err error) { s.Gate.Open(err) }

// Blame names the request.
func (s Stage) Blame() string { return s.Ticket.Request }

// Retire frees a window that some Stage may still be working on: it is freed after all of them, which the worker has got or
// lost by then.
type Retire struct {
	Window *ple.Window
	Worker *worker.Worker // the stager's
}

// Fail frees it without the stager.
func (r Retire) Fail(error) { r.free() }

func (r Retire) free() {
	if !r.Worker.Do(worker.Job{Run: r.Window.Free, Broken: func(any, []byte) {}}) {
		r.Window.Free() // the worker has stopped: nothing writes any more
	}
}

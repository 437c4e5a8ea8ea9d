package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/server/sse"
)

// Reasons of cancels that are not the client's doing.
const (
	clientLeft  = "client disconnected" // the connection is gone
	otherFailed = "another choice of its request ended with an error"
)

// wire is one protocol's way to write an answer, either event by event (begin, event, done or fail) or as one object. It is
// used by one goroutine for one job. Choices are counted from 0; most protocols have the one only.
type wire interface {
	begin(w *sse.Writer)                                         // the first choice was admitted
	event(w *sse.Writer, choice int, e intake.Event)             // Scored or Delta
	done(w *sse.Writer, choice int, r *intake.Report, last bool) // last: no other choice is open
	alive(w *sse.Writer, progress string)                        // nothing was sent for a while; progress is "" or ` prefill 512/2048`
	fail(w *sse.Writer, e *apiError)                             // after begin or instead of it
	whole(choices []*collected) any
}

// collected is a whole answer's choice.
type collected struct {
	reasoning, content strings.Builder
	calls              []*collectedCall
	parts              parts          // the same in order
	tokens             []sample.Token // generated, if asked for
	rounds             []intake.Event // all of it as it came
	scored             []sample.Token // the prompt's from the second on, if asked for
	report             *intake.Report
}

type collectedCall struct {
	name string
	args strings.Builder
}

func (a *collected) take(e intake.Event) {
	if e.Kind == intake.Scored {
		a.scored = append(a.scored, e.Tokens...)
		return
	}
	a.tokens = append(a.tokens, e.Tokens...)
	a.rounds = append(a.rounds, e)
	for _, d := range e.Deltas {
		a.parts.add(d)
		switch d.Kind {
		case chat.Reasoning:
			a.reasoning.WriteString(d.Text)
		case chat.Content:
			a.content.WriteString(d.Text)
		case chat.ToolStart:
			a.calls = append(a.calls, &collectedCall{name: d.Name})
		case chat.ToolArgs:
			a.calls[len(a.calls)-1].args.WriteString(d.Text)
		}
	}
}

// answer submits the job and writes what comes of it. However it ends, none of its requests outlives it.
func (s *Server) answer(c echo.Context, j *job, w wire) error {
	if s.isDraining() {
		return engineError(intake.ErrClosing, j.id)
	}
	if err := s.room(len(j.choices)); err != nil {
		return err
	}
	name, err := aliasOf(c)
	if err != nil {
		return err
	}
	t := &turn{s: s, c: c, job: j, wire: w, begin: time.Now(), ended: make([]bool, len(j.choices)), open: len(j.choices), why: "its http handler ended early"}
	ctx := c.Request().Context()
	t.events = feed{parent: ctx, every: s.opts.KeepAlive}
	defer t.leave()
	outs := make([]*intake.Output, len(j.choices))
	defer s.groups.add(j, name)()
	for i, q := range j.choices {
		q.Key = name.key
		outs[i] = s.engine.Submit(context.WithoutCancel(ctx), q)
	}
	s.bodies.letGo(c) // a stream may go on for long
	if len(outs) == 1 {
		t.events.from = lone{outs[0]}
	} else {
		reading, stop := context.WithCancel(ctx)
		defer stop()
		t.events.from = newMerged(reading, outs)
	}
	if j.stream {
		return t.stream()
	}
	return t.whole()
}

// room refuses a job of several choices that could not all be admitted: half of it would only be thrown away.
func (s *Server) room(choices int) error {
	if choices == 1 {
		return nil // the intake decides, and knows best
	}
	st := s.engine.Status()
	switch most := st.Slots + st.QueueLimit; {
	case choices > most:
		return refuse(400, typeInvalid, "invalid_value", "n", "comes to %d answers, and this server works on or queues at most %d", choices, most)
	case st.Active+st.Queued+choices > most:
		return s.ending(intake.ErrBusy, "")
	}
	return nil
}

// ending is engineError with what only the server knows: how long a client had better wait.
func (s *Server) ending(err error, id string) *apiError {
	e := engineError(err, id)
	if errors.Is(err, intake.ErrBusy) {
		e.retryAfter = s.pace.slotFree(s.engine.Status())
	}
	return e
}

// turn is one job on its way to one client.
type turn struct {
	s      *Server
	c      echo.Context
	job    *job
	wire   wire
	events feed
	begin  time.Time
	heard  time.Time // when the engine last gave a sign of life; zero while everything waits in the queue
	ended  []bool    // by choice: the engine has ended it, there is nothing to cancel
	open   int       // choices that have not ended
	why    string    // the reason to give for those that are cancelled
}

// leave cancels what still runs: the client is gone, does not read, or the handler panicked.
func (t *turn) leave() {
	t.events.close()
	if t.open == 0 {
		t.s.pace.note(time.Since(t.begin))
		return
	}
	t.s.metrics.left.Inc()
	for i, over := range t.ended {
		if !over {
			t.s.engine.Cancel(t.job.choices[i].ID, t.why)
		}
	}
	t.s.log.Info().Str("request", t.job.id).Int("choices", t.open).Str("reason", t.why).Msg("generation cancelled")
}

// next waits for the next event and keeps the books. quiet says that the client has heard nothing for a while.
func (t *turn) next(idle time.Duration) (choice int, e intake.Event, quiet bool, failed *apiError) {
	choice, e, quiet, err := t.events.next(idle)
	switch {
	case err != nil:
		return 0, e, false, t.broken(err)
	case quiet:
		if !t.heard.IsZero() && time.Since(t.heard) >= t.s.opts.Stall {
			t.why = fmt.Sprintf("no progress for %v", t.s.opts.Stall)
			return 0, e, false, refuse(504, typeServer, "no_progress", "", "request %s made no progress for %v and was given up", t.job.id, t.s.opts.Stall)
		}
		return 0, e, true, nil
	}
	t.heard = time.Now()
	switch e.Kind {
	case intake.Done:
		t.ended[choice] = true
		t.open--
	case intake.Failed:
		t.ended[choice] = true
		t.open--
		t.why = otherFailed
		return choice, e, false, t.s.ending(e.Err, t.job.id)
	}
	return choice, e, false, nil
}

// broken says why the context of the connection ended.
func (t *turn) broken(err error) *apiError {
	if errors.Is(err, errShutdown) {
		t.why = "server shutting down"
		return engineError(intake.ErrClosing, t.job.id)
	}
	t.why = clientLeft
	return engineError(intake.ErrCancelled, t.job.id)
}

// whole waits for the end and answers with one object.
func (t *turn) whole() error {
	all := make([]*collected, len(t.job.choices))
	for i := range all {
		all[i] = &collected{}
	}
	for {
		i, e, quiet, failed := t.next(0)
		if failed != nil {
			return failed
		}
		switch {
		case quiet:
		case e.Kind == intake.Scored || e.Kind == intake.Delta:
			all[i].take(e)
		case e.Kind == intake.Done:
			all[i].report = e.Report
			if t.open == 0 {
				return t.s.writeJSON(t.c, 200, t.wire.whole(all))
			}
		}
	}
}

// stream answers with events. The response is committed when the request is admitted, so that a full queue is still a
// 429; a request that waits in the queue for longer than a keep-alive is committed then.
func (t *turn) stream() error {
	w := sse.NewWriter(t.c.Response(), t.s.opts.WriteTimeout)
	t.s.metrics.streams.Inc()
	defer t.s.metrics.streams.Dec()
	var progress string
	begun, spoken := false, false
	sent := t.begin // when the client last heard of us
	for {
		i, e, quiet, failed := t.next(time.Since(sent))
		switch {
		case failed != nil:
			if !t.c.Response().Committed {
				return failed
			}
			if t.why != clientLeft {
				t.fail(w, failed)
			}
			return nil
		case quiet:
			t.wire.alive(w, progress)
			t.s.metrics.keepAlives.Inc()
		case e.Kind == intake.Accepted:
			if !begun {
				t.wire.begin(w)
			}
			begun = true
		case e.Kind == intake.Progress:
			progress = fmt.Sprintf(" prefill %d/%d", e.Prefilled, e.PromptTokens)
		case e.Kind == intake.Delta || e.Kind == intake.Scored:
			progress = ""
			t.wire.event(w, i, e)
		case e.Kind == intake.Done:
			t.wire.done(w, i, e.Report, t.open == 0)
		}
		if !w.Pending() {
			continue
		}
		if !t.c.Response().Committed {
			w.Prepare()
		}
		if err := w.Flush(); err != nil {
			t.why = clientLeft
			if isTimeout(err) {
				t.why = fmt.Sprintf("client did not read for %v", t.s.opts.WriteTimeout)
			}
			return nil
		}
		sent = time.Now()
		t.s.metrics.chunks.Inc()
		if e.Kind == intake.Delta && !quiet && !spoken {
			spoken = true
			t.s.metrics.firstByte.Observe(time.Since(t.begin).Seconds())
		}
		if t.open == 0 {
			return nil
		}
	}
}

// fail ends a stream that has begun with an error event.
func (t *turn) fail(w *sse.Writer, e *apiError) {
	t.s.metrics.refused(e)
	t.wire.fail(w, e)
	_ = w.Flush() // a client that is gone needs no error
}

// isTimeout reports a write deadline that passed.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

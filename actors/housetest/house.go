package housetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/metal/cpu"
)

// Open loads the pack in dir on a CPU device of so many threads; both are closed when the test ends.
func Open(t testing.TB, dir string, threads int) *bundle.Bundle {
	t.Helper()
	return OpenOn(t, dir, cpu.Options{Threads: threads})
}

// OpenOn is Open with all options of the device.
func OpenOn(t testing.TB, dir string, o cpu.Options) *bundle.Bundle {
	t.Helper()
	src, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(p, dev, bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close bundle: %v", err)
		}
		if err := dev.Close(); err != nil {
			t.Errorf("close device: %v", err)
		}
	})
	return b
}

// Config is a house's configuration with everything but the bundle at its default, all lanes armed.
func Config(b *bundle.Bundle) actors.Config {
	settings, err := lanes.Resolve(func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		panic(err) // no switch is set
	}
	return actors.Config{Model: b.Model, Head: b.Head, Tokenizer: b.Tokenizer, Vocab: b.Vocab, StopIDs: b.StopIDs, Lanes: settings, Log: zerolog.Nop()}
}

// Start opens a house; it is closed when the test ends, and must have let go of everything by then.
func Start(t testing.TB, c actors.Config) *actors.System {
	t.Helper()
	s, err := actors.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(10 * time.Second); err != nil {
			t.Errorf("close house: %v", err)
		}
		if st := s.Status(); st.Active != 0 || st.Queued != 0 {
			t.Errorf("closed house: %d active, %d queued, want none", st.Active, st.Queued)
		}
	})
	return s
}

var serial atomic.Int64

// Request is a greedy request for the ids of prompt; change what you want to differ.
func Request(prompt []int32, tokens int) *intake.Request {
	p := sample.Defaults()
	p.Temperature, p.Logprobs = 0, true
	return &intake.Request{ID: fmt.Sprintf("test-%d", serial.Add(1)), Prompt: prompt, Sampling: p, MaxTokens: tokens, Depth: 3,
		Rule: verify.Coupled, Parse: chat.ParserOptions{Plain: true}, Logprobs: true}
}

// Answer is what a request came to.
type Answer struct {
	Tokens []sample.Token
	Text   string
	Report *intake.Report
	Err    error
}

// IDs are the answer's token ids.
func (a Answer) IDs() []int32 {
	out := make([]int32, len(a.Tokens))
	for i, tok := range a.Tokens {
		out[i] = tok.ID
	}
	return out
}

// Run carries a request to its end. seen, if set, is called after every event.
func Run(ctx context.Context, s *actors.System, r *intake.Request, seen func(intake.Event)) Answer {
	out := s.Submit(r)
	var a Answer
	for {
		e, err := out.Next(ctx)
		if err != nil {
			s.Cancel(r.ID, "test ended")
			a.Err = err
			return a
		}
		a.Tokens = append(a.Tokens, e.Tokens...)
		for _, d := range e.Deltas {
			if d.Kind == chat.Reasoning || d.Kind == chat.Content {
				a.Text += d.Text
			}
		}
		if seen != nil {
			seen(e)
		}
		switch e.Kind {
		case intake.Done:
			a.Report = e.Report
			return a
		case intake.Failed:
			a.Err = e.Err
			return a
		}
	}
}

package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// logLines is a log sink that may be read while it is written.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// failures are the lines of failed actors.
func (l *logLines) failures(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range strings.Lines(l.buf.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line is no JSON: %q", line)
		}
		if m["message"] == "actor failed" {
			out = append(out, m)
		}
	}
	return out
}

func tinyPack(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := packtest.Write(dir, packtest.Tiny(), 7, packtest.Options{WithMTP: true}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mix is a handful of different requests that run at once.
func mix(sub [][]int32, tokens int) []*intake.Request {
	var out []*intake.Request
	for i, prompt := range sub {
		for _, temperature := range []float64{0, 1} {
			r := housetest.Request(prompt, tokens)
			r.Sampling.Temperature, r.Sampling.Seed, r.Depth = temperature, uint64(i), 1+i%4
			out = append(out, r)
		}
	}
	return out
}

func prompts(vocab int) [][]int32 {
	rng := rand.New(rand.NewPCG(3, 4))
	var out [][]int32
	for _, n := range []int{3, 40, 150} {
		p := make([]int32, n)
		for i := range p {
			p[i] = int32(rng.IntN(vocab))
		}
		out = append(out, p)
	}
	return out
}

// runAll carries requests through a house at the same time.
func runAll(t *testing.T, s *actors.System, requests []*intake.Request, seen func(intake.Event)) []housetest.Answer {
	t.Helper()
	answers := make([]housetest.Answer, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() { answers[i] = housetest.Run(t.Context(), s, r, seen) })
	}
	wg.Wait()
	return answers
}

// TestKilledActorsCostNoByte kills actors at random rounds: every request still ends with the bytes it would have had,
// and each failure is one log line.
func TestKilledActorsCostNoByte(t *testing.T) {
	const tokens = 60
	b := housetest.Open(t, tinyPack(t), 2)
	c := housetest.Config(b)
	c.StopIDs, c.Chunk = nil, 32
	requests := mix(prompts(256), tokens)
	want := runAll(t, housetest.Start(t, c), requests, nil)

	for _, victims := range [][]string{{"drafter"}, {"verifier"}, {"stager"}, {"indexer"}, {"drafter", "verifier", "stager", "indexer", "intake", "lanes"}} {
		t.Run(strings.Join(victims, "+"), func(t *testing.T) {
			var log logLines
			c := c
			c.Log = zerolog.New(&log)
			s := housetest.Start(t, c)
			rng := rand.New(rand.NewPCG(5, uint64(len(victims))))
			var mu sync.Mutex
			events := 0
			// A kill every so often, so that tokens are committed between them: a request may lose its round twice in a row. Streams without
			// drafts run in step and send their events together, so kills come at the same moment of a round and find the same one of them: it
			// must have had time to be rebuilt.
			kill := func(e intake.Event) {
				mu.Lock()
				defer mu.Unlock()
				if events++; events%47 == 0 {
					if err := s.Fault(victims[rng.IntN(len(victims))]); err != nil {
						t.Error(err)
					}
				}
			}
			got := runAll(t, s, mix(prompts(256), tokens), kill)
			for i, a := range got {
				if a.Err != nil {
					t.Errorf("request %d: %v", i, a.Err)
					continue
				}
				if d := cmp.Diff(want[i].Tokens, a.Tokens); d != "" {
					t.Errorf("request %d (depth %d): bytes differ after kills (-want +got):\n%s", i, requests[i].Depth, d)
				}
			}
			restarts := 0
			for _, a := range s.Actors() {
				restarts += a.Restarts
			}
			lines := log.failures(t)
			if restarts == 0 || len(lines) != restarts {
				t.Errorf("restarts: got %d, log lines %d, want the same number above 0", restarts, len(lines))
			}
			for _, m := range lines {
				if m["reason"] != "panic: injected fault" || m["directive"] != "restart" || m["stack"] == "" || m["message_type"] == "" || m["actor"] == "" {
					t.Errorf("failure line lacks something: %v", m)
				}
			}
		})
	}
}

// TestKilledSession kills sessions themselves: the ledger outlives them.
func TestKilledSession(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 2)
	c := housetest.Config(b)
	c.StopIDs = nil
	r := housetest.Request(prompts(256)[1], 400)
	want := housetest.Run(t.Context(), housetest.Start(t, c), r, nil)
	s := housetest.Start(t, c)
	const kills = 2
	rounds, armed := 0, false
	lose := func(message any) bool { // every other round's result
		if _, ok := message.(verifier.Committed); ok {
			rounds++
			return rounds%2 == 0
		}
		return false
	}
	again := *r
	got := housetest.Run(t.Context(), s, &again, func(intake.Event) {
		if armed {
			return
		}
		armed = true
		if err := s.FaultAt("session", &supervision.Fault{Times: kills, At: lose}); err != nil {
			t.Error(err)
		}
	})
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if got.Report.Restarts != kills {
		t.Errorf("rebuilt %d times, want %d", got.Report.Restarts, kills)
	}
	if d := cmp.Diff(want.Tokens, got.Tokens); d != "" {
		t.Errorf("bytes differ (-want +got):\n%s", d)
	}
}

// TestCrashLoopEndsOneRequest: a request that loses its round again and again ends with an error that names it, and the
// house goes on.
func TestCrashLoopEndsOneRequest(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 1)
	c := housetest.Config(b)
	c.StopIDs = nil
	s := housetest.Start(t, c)
	r := housetest.Request(prompts(256)[0], 400)
	round := func(message any) bool { _, ok := message.(verifier.Verify); return ok }
	if err := s.FaultAt("verifier", &supervision.Fault{Times: 3, At: round}); err != nil { // the same round, three times
		t.Fatal(err)
	}
	got := housetest.Run(t.Context(), s, r, nil)
	if !errors.Is(got.Err, intake.ErrCrashed) || !strings.Contains(got.Err.Error(), r.ID) {
		t.Fatalf("crash loop: got %v, want ErrCrashed that names %s", got.Err, r.ID)
	}
	if err := s.Ready(); err != nil {
		t.Fatalf("house: %v, want it to go on", err)
	}
	if a := housetest.Run(t.Context(), s, housetest.Request(prompts(256)[0], 5), nil); a.Err != nil || len(a.Tokens) != 5 {
		t.Errorf("next request: %d tokens, %v, want 5", len(a.Tokens), a.Err)
	}
}

// TestHopelessActorGivesUp: an actor that fails by itself, with no request to blame, ends the house.
func TestHopelessActorGivesUp(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 1)
	c := housetest.Config(b)
	gone := make(chan error, 1)
	c.GiveUp = func(err error) { gone <- err }
	s := housetest.Start(t, c)
	for range 200 {
		if err := s.Fault("lanes"); err != nil {
			break // stopped for good
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, _ = s.SetLane(ctx, "ple_cached_aux", true)
		cancel()
		if s.Ready() != nil {
			break
		}
	}
	select {
	case err := <-gone:
		if !strings.Contains(err.Error(), "flashlane/lanes") {
			t.Errorf("give up: got %v, want one that names the actor", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the house was not given up")
	}
	if s.Ready() == nil {
		t.Error("Ready: got nil after giving up")
	}
}

// TestCancelFreesEverything cancels requests at random points, queued ones too.
func TestCancelFreesEverything(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 2)
	c := housetest.Config(b)
	c.StopIDs, c.MaxActive, c.Chunk = nil, 3, 16
	s := housetest.Start(t, c)
	before := b.Device.Used()
	var cancelled atomic.Int64
	requests := slices.Concat(mix(prompts(256), 300), mix(prompts(256), 300))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			events := 0
			a := housetest.Run(t.Context(), s, r, func(e intake.Event) {
				if events++; events == 1+i*2 && !s.Cancel(r.ID, "test") {
					t.Errorf("cancel of a live request: got false")
				}
			})
			if errors.Is(a.Err, intake.ErrCancelled) {
				cancelled.Add(1)
			} else if a.Err != nil {
				t.Errorf("request %d: %v", i, a.Err)
			}
		})
	}
	wg.Wait()
	if cancelled.Load() == 0 {
		t.Error("no request was cancelled: the test proves nothing")
	}
	waitIdle(t, s)
	// What stays is windows on their shelf and passes' rooms, which the next requests use again.
	if grown := b.Device.Used() - before; grown > 4<<20 {
		t.Errorf("device memory after all ended: %d bytes more than before", grown)
	}
	if s.Cancel("nobody", "test") {
		t.Error("cancel of an unknown id: got true")
	}
}

// waitIdle waits until every request has let go.
func waitIdle(t *testing.T, s *actors.System) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for st := s.Status(); st.Active+st.Queued > 0; st = s.Status() {
		if time.Now().After(deadline) {
			t.Fatalf("still %d active, %d queued", st.Active, st.Queued)
		}
		time.Sleep(time.Millisecond)
	}
}

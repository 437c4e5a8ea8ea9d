package load_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/fake"
	"github.com/flashlane/flashlane/bench/load"
)

var ctx = context.Background()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, s *fake.Server) *client.Client {
	t.Helper()
	c, err := client.New(s.Start(t).URL, client.Options{Connections: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func plan(t *testing.T, c *client.Client, requests int, prompt, output string, shared float64) []load.Request {
	t.Helper()
	p, err := load.ParseLaw(prompt)
	if err != nil {
		t.Fatal(err)
	}
	o, err := load.ParseLaw(output)
	if err != nil {
		t.Fatal(err)
	}
	out, err := load.Plan(ctx, c, load.Spec{Requests: requests, Prompt: p, Output: o, Shared: shared, Seed: 5}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPlan(t *testing.T) {
	c := connect(t, &fake.Server{})
	a, b := plan(t, c, 20, "uniform:20-200", "uniform:1-9", 0.5), plan(t, c, 20, "uniform:20-200", "uniform:1-9", 0.5)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the same seed gave another plan:\n%s", d)
	}
	lengths := map[int]bool{}
	for i, r := range a {
		lengths[r.Prompt] = true
		if n, err := c.Count(ctx, r.Ask.Text, false); err != nil || n != r.Prompt {
			t.Errorf("request %d: the server counts %d tokens (%v), planned are %d", i, n, err, r.Prompt)
		}
		if want := 5 + uint64(i); r.Ask.Seed != want {
			t.Errorf("request %d: got seed %d, want %d", i, r.Ask.Seed, want)
		}
	}
	if len(lengths) < 10 {
		t.Errorf("20 prompts have %d lengths", len(lengths))
	}
	if _, err := load.Plan(ctx, c, load.Spec{Requests: 1, Prompt: load.Fixed(4000), Output: load.Fixed(97), Seed: 1}, 4096); err == nil || !strings.Contains(err.Error(), "4097") {
		t.Errorf("4000+97 in 4096: got error %v, want one with the sum", err)
	}
}

func TestPoisson(t *testing.T) {
	requests := make([]load.Request, 4000)
	if err := load.Poisson(requests, 50, 1); err != nil {
		t.Fatal(err)
	}
	var last time.Duration
	mean, square := 0.0, 0.0
	for _, r := range requests {
		d := (r.Due - last).Seconds()
		if d < 0 {
			t.Fatal("due times go back")
		}
		last = r.Due
		mean += d / 4000
		square += d * d / 4000
	}
	// Of an exponential law the deviation is the mean.
	if sd := math.Sqrt(square - mean*mean); math.Abs(mean-0.02) > 0.001 || math.Abs(sd-0.02) > 0.0015 {
		t.Errorf("gaps: got mean %v and deviation %v, want 0.02 both", mean, sd)
	}
	if load.Poisson(requests, 0, 1) == nil || load.Poisson(requests, math.NaN(), 1) == nil {
		t.Error("no rate was taken")
	}
}

func TestClosed(t *testing.T) {
	s := &fake.Server{Pace: 2 * time.Millisecond, Cached: 3}
	c := connect(t, s)
	run, err := load.Closed(ctx, c, plan(t, c, 30, "20", "5", 0), 10)
	if err != nil {
		t.Fatal(err)
	}
	r := run.Result()
	if r.Finished != 30 || r.Tokens != 150 || r.Prompt != 600 || r.Cached != 90 || r.Finish["length"] != 30 || len(r.Errors) != 0 {
		t.Errorf("got %+v", r)
	}
	if r.Reused != 90 {
		t.Errorf("by the counter: got %d cached tokens, want 90", r.Reused)
	}
	if r.TTFT.N != 30 || r.Gap.N != 120 || r.Gap.P50 < 2 {
		t.Errorf("got %d first texts, %d gaps with median %v, want 30, 120, at least 2 ms", r.TTFT.N, r.Gap.N, r.Gap.P50)
	}
	if want := float64(r.Tokens) / r.Wall; r.Total != want || r.Wall < 0.008*3 {
		t.Errorf("rate: got %v in %v s", r.Total, r.Wall)
	}
	if _, err := load.Closed(ctx, c, plan(t, c, 3, "20", "5", 0), 4); err == nil {
		t.Error("more clients than requests were taken: some would have had nothing to do")
	}
}

func TestErrorsAreCounted(t *testing.T) {
	for _, e := range []struct {
		server *fake.Server
		kind   string
		want   int
	}{
		{&fake.Server{Busy: 2}, "status 429", 2},
		{&fake.Server{Break: 2}, "stream", 6},
		{&fake.Server{Extra: 1}, "prompt length", 6},
	} {
		c := connect(t, e.server)
		run, err := load.Closed(ctx, c, plan(t, c, 6, "20", "5", 0), 2)
		if err != nil {
			t.Fatal(err)
		}
		r := run.Result()
		if r.Errors[e.kind] != e.want || r.Finished != 6-e.want || len(r.Examples) != 1 {
			t.Errorf("%s: got errors %v, %d finished, examples %q", e.kind, r.Errors, r.Finished, r.Examples)
		}
		if r.TTFT.N != r.Finished {
			t.Errorf("%s: %d of %d first texts are of failed requests", e.kind, r.TTFT.N-r.Finished, r.TTFT.N)
		}
	}
}

// A slow server does not slow the arrivals down, and waiting counts from when a request was due.
func TestOpen(t *testing.T) {
	c := connect(t, &fake.Server{Prefill: 100 * time.Millisecond})
	requests := plan(t, c, 10, "20", "1", 0)
	for i := range requests {
		requests[i].Due = time.Duration(i) * 5 * time.Millisecond
	}
	run, err := load.Open(ctx, c, requests, 200)
	if err != nil {
		t.Fatal(err)
	}
	r := run.Result()
	if r.Finished != 10 || r.Name != "200 requests/s" {
		t.Errorf("got %+v", r)
	}
	if run.Wall > 800*time.Millisecond {
		t.Errorf("took %v: requests waited for each other", run.Wall)
	}
	if r.TTFT.Min < 100 {
		t.Errorf("shortest time to first text %v ms, want at least the server's 100", r.TTFT.Min)
	}
}

func TestInterrupted(t *testing.T) {
	c := connect(t, &fake.Server{Prefill: 50 * time.Millisecond})
	requests := plan(t, c, 50, "20", "1", 0)
	short, cancel := context.WithTimeout(ctx, 120*time.Millisecond)
	defer cancel()
	run, err := load.Closed(short, c, requests, 1)
	if err == nil {
		t.Error("no error")
	}
	r := run.Result()
	if r.Errors["not sent"] == 0 || r.Finished+r.Errors["not sent"]+r.Errors["timeout"]+r.Errors["cancelled"] != 50 {
		t.Errorf("got %d finished, errors %v, want all 50 told", r.Finished, r.Errors)
	}
}

func TestLongPrompt(t *testing.T) {
	c := connect(t, &fake.Server{Pace: time.Millisecond, Prefill: 40 * time.Millisecond})
	long := plan(t, c, 1, "2000", "2", 0)
	a, err := load.LongPrompt(ctx, c, plan(t, c, 8, "20", "400", 0), &long[0], 4, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if a.Streams != 4 || a.Prompt != 2000 || a.TTFT < 40 || a.Before.P95 < 1 || a.Errors != 0 {
		t.Errorf("got %+v", a)
	}
	if a.Ratio != a.During.P95/a.Before.P95 || a.Met != (a.Ratio <= 3) {
		t.Errorf("ratio %v, met %v", a.Ratio, a.Met)
	}
	cached := connect(t, &fake.Server{Cached: 9, Pace: time.Millisecond, Prefill: 40 * time.Millisecond})
	if _, err := load.LongPrompt(ctx, cached, plan(t, cached, 2, "20", "400", 0), &long[0], 2, 10*time.Millisecond); err == nil {
		t.Error("a cached long prompt was taken")
	}
}

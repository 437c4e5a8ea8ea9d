package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/flashlane/flashlane/bench/client"
	"github.com/flashlane/flashlane/bench/fake"
)

func connect(t *testing.T, s *fake.Server) *client.Client {
	t.Helper()
	c, err := client.New(s.Start(t).URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNewTakesThisMachineOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:80/": true, "http://127.9.9.9:1": true,
		"http://10.0.0.1:8080": false, "http://example.com:80": false, "https://127.0.0.1:8080": false, "http://127.0.0.1": false,
		"http://127.0.0.1:80/v1": false, "127.0.0.1:8080": false, "http://localhost.example.com:80": false, "http://0.0.0.0:80": false,
	} {
		if _, err := client.New(address, client.Options{}); (err == nil) != ok || (err != nil && !errors.Is(err, client.ErrAddress)) {
			t.Errorf("%s: got error %v, want one: %v", address, err, !ok)
		}
	}
}

func TestChat(t *testing.T) {
	c := connect(t, &fake.Server{Prefill: 30 * time.Millisecond, Pace: 5 * time.Millisecond})
	seen := 0
	a, err := c.Chat(context.Background(), &client.Ask{Text: "three small words", MaxTokens: 4, Seed: 9}, func(time.Time) { seen++ })
	if err != nil {
		t.Fatal(err)
	}
	if a.Prompt != fake.Template+3 || a.Completion != 4 || a.Finish != "length" || a.Rounds != 4 || a.Cached != 0 {
		t.Errorf("got %+v", a)
	}
	if len(a.Marks) != 4 || seen != 4 {
		t.Errorf("got %d marks and %d calls, want 4: the role and the finish carry no text", len(a.Marks), seen)
	}
	if a.TTFT() < 30*time.Millisecond || a.Decode() < 15*time.Millisecond || a.End < a.TTFT()+a.Decode() {
		t.Errorf("got ttft %v, decode %v, end %v, want at least 30 ms, 15 ms and their sum", a.TTFT(), a.Decode(), a.End)
	}
	if len(a.TokensSHA) != 64 || a.TextSHA != "" {
		t.Errorf("digests: got %q and %q, want a hash and none for the empty text", a.TokensSHA, a.TextSHA)
	}
	if !a.Lanes["ple_cached_aux"] {
		t.Errorf("lanes: got %v", a.Lanes)
	}
}

func TestChatFailures(t *testing.T) {
	ctx := context.Background()
	ask := &client.Ask{Text: "a", MaxTokens: 8}
	c := connect(t, &fake.Server{Break: 3})
	a, err := c.Chat(ctx, ask, nil)
	if !errors.Is(err, client.ErrStream) || len(a.Marks) != 3 {
		t.Errorf("broken off: got %v with %d marks, want ErrStream with 3", err, len(a.Marks))
	}
	var status *client.StatusError
	if _, err := connect(t, &fake.Server{Busy: 1}).Chat(ctx, ask, nil); !errors.As(err, &status) || status.Status != 429 || status.Code != "queue_full" || status.RetryAfter != time.Second {
		t.Errorf("busy: got %v", err)
	}
	for name, stream := range map[string]string{
		"error event":   "data: {\"error\":{\"message\":\"it died\",\"code\":\"internal_error\"}}\n\ndata: [DONE]\n\n",
		"no usage":      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"not json":      "data: {\n\n",
		"nothing":       "",
		"only comments": ": hello\n\n",
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(stream)) }))
		c, err := client.New(web.URL, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Chat(ctx, ask, nil); !errors.Is(err, client.ErrStream) {
			t.Errorf("%s: got %v, want ErrStream", name, err)
		}
		web.Close()
	}
}

func TestState(t *testing.T) {
	ctx := context.Background()
	c := connect(t, &fake.Server{Stuck: "qsa_pooled_rowsel"})
	if err := c.SetLane(ctx, "ple_cached_aux", false); err != nil {
		t.Error(err)
	}
	if lanes, err := c.Lanes(ctx); err != nil || lanes["ple_cached_aux"].Enabled || !lanes["qsa_pooled_rowsel"].Enabled {
		t.Errorf("lanes: got %v, %v", lanes, err)
	}
	if err := c.SetLane(ctx, "no_such_lane", true); err == nil {
		t.Error("an unknown lane was switched")
	}
	stuck, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := c.SetLane(stuck, "qsa_pooled_rowsel", false); err == nil {
		t.Error("a lane that stays on was called switched off")
	}
	if n, err := c.Count(ctx, "two words", false); err != nil || n != fake.Template+2 {
		t.Errorf("count: got %d, %v", n, err)
	}
	if v, ok, err := c.Metric(ctx, "x_total"); v != 3 || !ok || err != nil {
		t.Errorf("metric: got %v %v %v, want the sum 3", v, ok, err)
	}
	if _, ok, err := c.Metric(ctx, "y_total"); ok || err != nil {
		t.Errorf("unknown metric: got %v %v", ok, err)
	}
	stop := c.Peak(ctx, time.Millisecond)
	if got := stop(); got != 64<<20 {
		t.Errorf("peak: got %d", got)
	}
	if err := c.Idle(ctx, time.Second); err != nil {
		t.Error(err)
	}
}

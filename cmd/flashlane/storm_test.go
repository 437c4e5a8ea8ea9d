package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flashlane/flashlane/actors/housetest"
)

// healthLimit is how long /health may take in a long run, and healthEvery how often it is asked.
const (
	healthLimit = 250 * time.Millisecond
	healthEvery = 20 * time.Millisecond
)

// stormCall is one request of the storm.
type stormCall struct {
	path string
	body []byte
}

// stormCalls are requests on every wire, whole and streamed, with and without sampling. Each names its seed.
func stormCalls(t *testing.T, seed uint64) []stormCall {
	rng := rand.New(rand.NewPCG(seed, 1))
	texts := []string{trimSpace, "What is a goroutine?", "How do I read a file line by line in Go?", "Write a function that reverses a slice."}
	var out []stormCall
	add := func(path string, body object) {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, stormCall{path, raw})
	}
	for i := range 12 {
		text, stream, temperature := texts[rng.IntN(len(texts))], rng.IntN(3) > 0, float64(rng.IntN(2))
		more := object{"seed": rng.IntN(1 << 30), "temperature": temperature, "stream": stream, "depth": rng.IntN(8)}
		set := func(k string, v any) { more[k] = v }
		switch i % 4 {
		case 0, 1:
			set("messages", []object{{"role": "user", "content": text}})
			set("max_tokens", 20+rng.IntN(100))
			add("/v1/chat/completions", more)
		case 2:
			set("messages", []object{{"role": "user", "content": text}})
			set("max_tokens", 20+rng.IntN(100))
			add("/v1/messages", more)
		case 3:
			set("prompt", text+" "+text+" "+text)
			set("max_tokens", 20+rng.IntN(100))
			add("/v1/completions", more)
		}
	}
	return out
}

var tokensDigest = regexp.MustCompile(`"tokens_sha256":"([0-9a-f]{64})"`)

// digest is what an answer says of its tokens, "" if it did not come to its end.
func digest(answer []byte) string {
	m := tokensDigest.FindSubmatch(answer)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// TestStorm is the house under everything that clients, operators and the machine do to it at once, over HTTP: clients that
// read slowly, leave in the middle or cancel, a memory limit that makes requests wait, a disk tier, lanes that are switched
// and actors that are killed. Whoever gets a whole answer has its solo tokens; afterwards nothing is held; and /health
// answers all the time. How fast it does is printed, and fails a long run.
func TestStorm(t *testing.T) {
	length, seed, soak := housetest.Soak(t, 4*time.Second, 20261129)
	s := startServe(t, "--memory-limit", "192MiB", "--max-active", "4", "--max-queue", "5", "--debug-faults", "--ngram-cache", "64KiB",
		"--cache-dir", t.TempDir(), "--cache-size", "4MiB")
	calls := stormCalls(t, seed)
	want := make([]string, len(calls))
	for i, c := range calls {
		raw := s.post(t, c)
		if want[i] = digest(raw); want[i] == "" {
			t.Fatalf("request %d alone: no digest in %.300s", i, raw)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	files, counted := s.openFiles()

	var tally struct{ same, left, cancelled, refused, failed atomic.Int64 }
	enough := func() bool { return tally.same.Load() >= 10 && tally.left.Load() > 0 && tally.cancelled.Load() > 0 }
	// At least so long, and on a machine with other work until there is something to look at.
	ctx, stop := context.WithTimeout(t.Context(), length+time.Minute)
	defer stop()
	time.AfterFunc(length, func() {
		for !enough() && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
	})
	var wg sync.WaitGroup
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(100+worker)))
		wg.Go(func() {
			for ctx.Err() == nil {
				i := rng.IntN(len(calls))
				code, raw, end := s.visit(calls[i], rng)
				switch got := digest(raw); {
				case end == "left":
					tally.left.Add(1)
				case code == 429 || code == 503 || code == 507:
					tally.refused.Add(1)
					time.Sleep(2 * time.Millisecond)
				case end == "cancelled" && got == "":
					tally.cancelled.Add(1)
				case bytes.Contains(raw, []byte("request_crashed")):
					tally.failed.Add(1) // killed three times over with nothing gained in between
				case got != want[i]:
					t.Errorf("seed %d: request %d: got status %d, tokens %q, want %q: %.200s", seed, i, code, got, want[i], raw)
				default:
					tally.same.Add(1)
				}
			}
		})
	}
	wg.Go(func() { s.meddle(ctx, t, rand.New(rand.NewPCG(seed, 99))) })
	var health []time.Duration
	wg.Go(func() { health = s.watchHealth(ctx, t) })
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
	s.settled(t, files, counted)

	t.Logf("seed %d: %d same tokens, %d left, %d cancelled, %d refused, %d failed", seed,
		tally.same.Load(), tally.left.Load(), tally.cancelled.Load(), tally.refused.Load(), tally.failed.Load())
	if !enough() {
		t.Errorf("seed %d: too little finished, left or was cancelled for the test to prove anything", seed)
	}
	if n := tally.failed.Load(); n > tally.same.Load()/10 {
		t.Errorf("seed %d: %d requests failed against %d that finished", seed, n, tally.same.Load())
	}
	slices.Sort(health)
	at := func(share float64) time.Duration { return health[min(int(share*float64(len(health))), len(health)-1)] }
	t.Logf("health latency over %d calls: p50 %v, p95 %v, p99 %v, max %v", len(health), at(0.5), at(0.95), at(0.99), at(1))
	if soak && at(1) > healthLimit {
		t.Errorf("seed %d: /health took %v, want at most %v", seed, at(1), healthLimit)
	}
	for i, c := range calls[:3] {
		if got := digest(s.post(t, c)); got != want[i] {
			t.Errorf("request %d afterwards: tokens %s, want %s", i, got, want[i])
		}
	}
}

// post carries a request to its end.
func (s *served) post(t *testing.T, c stormCall) []byte {
	t.Helper()
	resp, err := http.Post(s.url+c.path, "application/json", bytes.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// visit is one client: it reads to the end, slowly or not, or leaves, or cancels its request.
func (s *served) visit(c stormCall, rng *rand.Rand) (code int, raw []byte, end string) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	mood, at := rng.IntN(10), rng.IntN(4000)
	if mood == 0 { // before there can be an answer
		time.AfterFunc(time.Duration(rng.IntN(20))*time.Millisecond, leave)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+c.path, bytes.NewReader(c.body))
	if err != nil {
		return 0, []byte(err.Error()), ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, "left"
		}
		return 0, []byte(err.Error()), ""
	}
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 512)
	for {
		n, err := resp.Body.Read(buf)
		raw = append(raw, buf[:n]...)
		switch {
		case mood == 1 && len(raw) >= at || mood == 0 && ctx.Err() != nil:
			return resp.StatusCode, nil, "left"
		case mood == 2 && len(raw) >= at && end == "":
			end = "cancelled"
			del, _ := http.NewRequest(http.MethodDelete, s.url+"/v1/requests/"+resp.Header.Get("X-Request-Id"), nil)
			if r, err := http.DefaultClient.Do(del); err == nil {
				_ = r.Body.Close()
			}
		case mood == 3:
			time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond) // reads slowly
		}
		if err != nil {
			return resp.StatusCode, raw, end
		}
	}
}

// meddle switches lanes and kills actors until ctx ends.
func (s *served) meddle(ctx context.Context, t *testing.T, rng *rand.Rand) {
	kinds := []string{"drafter", "verifier", "stager", "indexer", "intake", "lanes", "sessions", "session"}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rng.IntN(60)) * time.Millisecond):
		}
		if rng.IntN(3) == 0 {
			if code, raw := s.do(t, http.MethodPost, "/debug/fault", object{"actor": kinds[rng.IntN(len(kinds))]}); code != 202 && code != 404 {
				t.Errorf("fault: got %d %s", code, raw)
			}
			continue
		}
		lane := []string{"ple_cached_aux", "qsa_pooled_rowsel"}[rng.IntN(2)]
		if code, raw := s.do(t, http.MethodPut, "/v1/lanes/"+lane, object{"enabled": rng.IntN(2) == 0}); code != 200 {
			t.Errorf("lane %s: got %d %s", lane, code, raw)
		}
	}
}

// watchHealth asks /health until ctx ends, and tells how long each answer took.
func (s *served) watchHealth(ctx context.Context, t *testing.T) (took []time.Duration) {
	for ctx.Err() == nil {
		start := time.Now()
		if code, raw := s.do(t, http.MethodGet, "/health", nil); code != 200 {
			t.Errorf("health: got %d %s", code, raw)
		}
		took = append(took, time.Since(start))
		select {
		case <-ctx.Done():
		case <-time.After(healthEvery):
		}
	}
	return took
}

// settled waits until nothing is worked on and nothing is held: no request, promise, slot, file.
func (s *served) settled(t *testing.T, files int, counted bool) {
	t.Helper()
	var h struct {
		Active, Queued, Slots int
		Memory                struct{ Sequences int64 }
	}
	var open int
	deadline := time.Now().Add(20 * time.Second) // generous: this waits for the state, it does not measure
	for {
		_, raw := s.do(t, http.MethodGet, "/health", nil)
		if err := json.Unmarshal(raw, &h); err != nil {
			t.Fatal(err)
		}
		open, _ = s.openFiles()
		if h.Active == 0 && h.Queued == 0 && h.Memory.Sequences == 0 && (!counted || open <= files+1) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("afterwards: active %d, queued %d, promised %d bytes, want 0; %d open files, %d before", h.Active, h.Queued, h.Memory.Sequences, open, files)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

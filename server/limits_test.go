package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flashlane/flashlane/actors/intake"
)

// TestQuotas: a minute's worth at once, then one as often as the rate gives; the time told is the time it takes.
func TestQuotas(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQuotas(6, 0)
	q.now = func() time.Time { return now }
	for i := range 6 {
		if _, err := q.enter("a"); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	_, err := q.enter("a")
	if err == nil || err.retryAfter != 10 || err.code != "rate_limit" {
		t.Fatalf("the seventh: %+v, want a rate limit and 10 s", err)
	}
	if _, err := q.enter("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	now = now.Add(9900 * time.Millisecond)
	if _, err := q.enter("a"); err == nil || err.retryAfter != 1 {
		t.Errorf("after 9.9 s: %+v, want 1 s more", err)
	}
	now = now.Add(100 * time.Millisecond)
	if _, err := q.enter("a"); err != nil {
		t.Errorf("after 10 s: %v", err)
	}

	q = newQuotas(0, 2)
	q.now = func() time.Time { return now }
	first, _ := q.enter("a")
	now = now.Add(20 * time.Second)
	first() // answers take 20 s
	_, _ = q.enter("a")
	now = now.Add(5 * time.Second)
	second, _ := q.enter("a")
	if _, err := q.enter("a"); err == nil || err.code != "concurrency_limit" || err.retryAfter != 15 {
		t.Errorf("the third at once: %+v, want a concurrency limit and 15 s", err)
	}
	second()
	if _, err := q.enter("a"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

func TestQuotasOverHTTP(t *testing.T) {
	s := testServer(t, newFake(), Options{Keys: testKeys(t), KeyRate: 1})
	alice := []string{"X-Api-Key", "alice-secret"}
	if w := call(s, "POST", "/v1/chat/completions", chatHi, alice...); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/responses"} {
		w := call(s, "POST", path, chatHi, alice...)
		wantError(t, w, 429, "rate_limit", "")
		if after := w.Header().Get("Retry-After"); after != "60" && after != "59" {
			t.Errorf("%s: Retry-After %q, want a minute", path, after)
		}
	}
	wantAnthropicError(t, call(s, "POST", "/v1/messages", anthropicBody(`"seed":1`), alice...), 429, "rate_limit_error", "")
	if w := call(s, "POST", "/v1/chat/completions", chatHi, "X-Api-Key", "just-a-long-key"); w.Code != 200 {
		t.Errorf("another key: %d", w.Code)
	}
	if w := call(s, "GET", "/health", "", alice...); w.Code != 200 {
		t.Errorf("a route that generates nothing: %d", w.Code)
	}
	for _, o := range []Options{{KeyRate: 1}, {KeyConcurrent: 1}, {KeyRate: -1, Keys: testKeys(t)}} {
		if _, err := New(o, newFake(), testModel(t)); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}

// TestQueueFullTellsHowLong: the time told follows from how long answers took.
func TestQueueFullTellsHowLong(t *testing.T) {
	e := newFake()
	s := testServer(t, e, Options{})
	s.pace.note(40 * time.Second)
	e.script = failing(intake.ErrBusy, false)
	w := call(s, "POST", "/v1/chat/completions", chatHi)
	wantError(t, w, 429, "queue_full", "")
	if got := w.Header().Get("Retry-After"); got != "10" { // 4 slots
		t.Errorf("Retry-After %q, want 10", got)
	}
}

// TestStall: a prefill that goes on is never given up, one that stands still is.
func TestStall(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions"} {
		for _, stream := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				e := newFake()
				out := make(chan *intake.Output, 1)
				e.script = func(_ *intake.Request, o *intake.Output) { out <- o }
				s := testServer(t, e, Options{Stall: time.Minute})
				body := chatHi
				if stream {
					body = chatHiStream
				}
				w := httptest.NewRecorder()
				done := make(chan struct{})
				go func() {
					defer close(done)
					s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body)))
				}()
				o := <-out
				time.Sleep(time.Hour) // in the queue: others' work is progress, too
				o.Push(intake.Event{Kind: intake.Accepted})
				for i := range 100 {
					time.Sleep(50 * time.Second)
					o.Push(intake.Event{Kind: intake.Progress, Prefilled: i, PromptTokens: 100})
				}
				begin := time.Now()
				<-done
				if took := time.Since(begin); took < time.Minute || took > 80*time.Second {
					t.Errorf("given up after %v, want a minute and at most two keep-alives", took)
				}
				if !strings.Contains(w.Body.String(), "no_progress") || (!stream && w.Code != http.StatusGatewayTimeout) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if got := e.cancelled(); len(got) != 1 || !strings.Contains(got[0], "no progress for 1m0s") {
					t.Errorf("cancels %v", got)
				}
			})
		}
	}
}

func TestCORS(t *testing.T) {
	const page = "https://app.example"
	preflight := []string{"Origin", page, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, x-stainless-os, evil header"}
	off := testServer(t, newFake(), Options{Keys: testKeys(t)})
	for _, w := range []*httptest.ResponseRecorder{call(off, "OPTIONS", "/v1/chat/completions", "", preflight...), call(off, "GET", "/health", "", "Origin", page, "X-Api-Key", "alice-secret")} {
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("CORS is off, and the answer has %s", name)
			}
		}
	}
	for _, origins := range [][]string{{page}, {"*"}, {"https://other.example", page}} {
		s := testServer(t, newFake(), Options{Keys: testKeys(t), CORS: origins})
		w := call(s, "OPTIONS", "/v1/chat/completions", "", preflight...)
		h := w.Header()
		if w.Code != 204 || h.Get("Access-Control-Allow-Origin") != page || h.Get("Access-Control-Allow-Headers") != "authorization, x-stainless-os" || h.Get("Vary") != "Origin" {
			t.Errorf("%v: preflight %d %v", origins, w.Code, h)
		}
		w = call(s, "GET", "/health", "", "Origin", page, "X-Api-Key", "alice-secret")
		if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != page {
			t.Errorf("%v: %d %v", origins, w.Code, w.Header())
		}
		wantError(t, call(s, "GET", "/health", "", "Origin", page), 401, "missing_api_key", "")
		if w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Error("credentials are allowed")
		}
	}
	s := testServer(t, newFake(), Options{CORS: []string{page}})
	if w := call(s, "GET", "/health", "", "Origin", page); w.Code != 200 {
		t.Errorf("a listed page without keys: %d", w.Code)
	}
	wantError(t, call(s, "GET", "/health", "", "Origin", "https://evil.example"), 403, "foreign_origin", "")
	if w := call(s, "OPTIONS", "/health", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "GET"); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page that is not listed: %v", w.Header())
	}
	for _, bad := range []string{"*", "app.example", "https://app.example/", "ftp://app.example", "https://u@app.example", ""} {
		if _, err := New(Options{CORS: []string{bad}}, newFake(), testModel(t)); !errors.Is(err, ErrOrigin) {
			t.Errorf("origin %q: %v, want ErrOrigin", bad, err)
		}
	}
}

func TestPage(t *testing.T) {
	s := testServer(t, newFake(), Options{Keys: testKeys(t)})
	for _, accept := range []string{"text/html,application/xhtml+xml,application/json;q=0.9", "*/*", ""} {
		w := call(s, "GET", "/", "", "Accept", accept)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("Accept %q: %d %s", accept, w.Code, w.Header().Get("Content-Type"))
		}
	}
	wantError(t, call(s, "GET", "/", "", "Accept", "application/json"), 401, "missing_api_key", "")
	wantError(t, call(s, "POST", "/", ""), 401, "missing_api_key", "")
	if w := call(s, "GET", "/ui/none/x.js", ""); w.Code != 404 {
		t.Errorf("an asset that is not there: %d", w.Code)
	}
}

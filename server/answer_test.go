package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/ple"
)

// TestEngineErrors: before a stream has begun every failure is an answer with its own status; after that it is an event.
func TestEngineErrors(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		code       string
		retryAfter bool
	}{
		{intake.ErrBusy, 429, "queue_full", true},
		{intake.ErrClosing, 503, "shutting_down", true},
		{intake.ErrTooLong, 400, "context_length_exceeded", false},
		{intake.ErrMemory, 507, "insufficient_memory", false},
		{intake.ErrCancelled, 499, "request_cancelled", false},
		{intake.ErrCrashed, 500, "request_crashed", false},
		{intake.ErrNumeric, 500, "non_finite", false},
		{fmt.Errorf("%w: %w", intake.ErrTable, &ple.ReadError{Table: "ngram.weight", Err: errors.New("read /secret/file")}), 500, "ngram_table_unreadable", false},
		{intake.ErrInternal, 500, "internal_error", false},
		{fmt.Errorf("open /secret/path: goroutine 1 [running]"), 500, "internal_error", false},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v %s stream=%v", c.err, path, stream), func(t *testing.T) {
					e := newFake()
					e.script = failing(fmt.Errorf("/secret/path: %w", c.err), false)
					s := testServer(t, e, Options{})
					body := fmt.Sprintf(`{"stream":%v,"messages":[{"role":"user","content":"hi"}]}`, stream)
					if path == "/v1/completions" {
						body = fmt.Sprintf(`{"stream":%v,"prompt":"hi"}`, stream)
					}
					w := call(s, "POST", path, body)
					message := wantError(t, w, c.status, c.code, "")
					if (w.Header().Get("Retry-After") != "") != c.retryAfter {
						t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
					}
					if c.status == 500 && !strings.Contains(message, w.Header().Get("X-Request-Id")) {
						t.Errorf("message %q does not name request %s", message, w.Header().Get("X-Request-Id"))
					}
					if strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), "goroutine") {
						t.Errorf("%s tells a path or stack", w.Body)
					}
					if c.code == "ngram_table_unreadable" && !strings.Contains(message, "ngram.weight") {
						t.Errorf("message %q does not name the table", message)
					}
					if len(e.cancelled()) != 0 {
						t.Errorf("a request that ended was cancelled: %v", e.cancelled())
					}
					e.script = failing(fmt.Errorf("/secret/path: %w", c.err), true)
					w = call(s, "POST", path, body)
					if !stream {
						wantError(t, w, c.status, c.code, "")
						return
					}
					data := dataOf(parseSSE(t, w.Body))
					if w.Code != 200 || len(data) < 3 || data[len(data)-1] != "[DONE]" || !strings.Contains(data[len(data)-3], "Hel") {
						t.Fatalf("mid-stream: status %d, events %q", w.Code, data)
					}
					var got struct{ Error map[string]any }
					decode(t, data[len(data)-2], &got)
					if got.Error["code"] != c.code || strings.Contains(data[len(data)-2], "secret") {
						t.Errorf("mid-stream error %v, want code %s", got.Error, c.code)
					}
				})
			}
		}
	}
}

// heard is a recorder that may be read while it is written.
type heard struct {
	mu sync.Mutex
	*httptest.ResponseRecorder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ResponseRecorder.Write(p)
}

func (h *heard) Flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ResponseRecorder.Flush()
}

func (h *heard) text() (text string, flushed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Body.String(), h.Flushed
}

// TestKeepAlive: a silent stream gets a comment every 10 s, with the prefill's progress; a lively one gets none.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake()
		out := make(chan *intake.Output, 1)
		e.script = func(_ *intake.Request, o *intake.Output) { out <- o }
		s := testServer(t, e, Options{})
		w := &heard{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(chatHiStream))
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Handler().ServeHTTP(w, r)
		}()
		o := <-out
		wait := func(d time.Duration, comments int, what string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			text, _ := w.text()
			if got := strings.Count(text, ": keep-alive"); got != comments {
				t.Fatalf("%s: %d comments, want %d:\n%s", what, got, comments, text)
			}
		}
		wait(9*time.Second, 0, "9 s in the queue")
		if _, flushed := w.text(); flushed {
			t.Fatal("a queued request was committed before there was need")
		}
		wait(2*time.Second, 1, "11 s in the queue")
		o.Push(intake.Event{Kind: intake.Accepted})
		wait(9*time.Second, 1, "9 s after it was accepted")
		o.Push(intake.Event{Kind: intake.Progress, Prefilled: 512, PromptTokens: 2048}) // reaches no client by itself
		wait(2*time.Second, 2, "11 s after it was accepted")
		if text, _ := w.text(); !strings.Contains(text, ": keep-alive prefill 512/2048") {
			t.Fatalf("no progress in %s", text)
		}
		for range 10 {
			o.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.Content, Text: "x"}}})
			wait(7*time.Second, 2, "while text comes")
		}
		o.Push(intake.Event{Kind: intake.Delta}) // text held back is silence, too
		wait(4*time.Second, 3, "text held back")
		wait(30*time.Second, 6, "30 s of silence")
		o.Push(intake.Event{Kind: intake.Done, Report: reportOf(e.last(t))})
		<-done
		got := streamedOf(t, dataOf(parseSSE(t, w.Body)), false)
		if got.Content != strings.Repeat("x", 10) {
			t.Errorf("text %q", got.Content)
		}
	})
}

// TestStreamOfEventsKeepsAlive is the same for /v1/events.
func TestStreamOfEventsKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFake()
		e.feed = make(chan Event)
		s := testServer(t, e, Options{})
		w := httptest.NewRecorder()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/events", nil).WithContext(ctx))
		}()
		time.Sleep(25 * time.Second)
		e.feed <- Event{Type: "lane", Time: time.Unix(0, 0).UTC(), Data: map[string]any{"lane": "x"}}
		time.Sleep(9 * time.Second)
		cancel()
		<-done
		events := parseSSE(t, w.Body)
		if len(events) != 3 || events[0].comment != "keep-alive" || events[1].comment != "keep-alive" || events[2].name != "lane" ||
			events[2].data != `{"type":"lane","time":"1970-01-01T00:00:00Z","data":{"lane":"x"}}` {
			t.Errorf("events %+v", events)
		}
	})
}

// live serves on a real loopback socket until the test ends.
func live(t *testing.T, s *Server) (url string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-served
	}
	t.Cleanup(func() { _ = stop() })
	return "http://" + ln.Addr().String(), stop
}

// open begins a stream and returns it after its first data line.
func open(t *testing.T, ctx context.Context, url, body string) (*http.Response, *bufio.Reader) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewReader(resp.Body)
}

// begun accepts, says a word and then leaves the request running.
func begun(_ *intake.Request, out *intake.Output) {
	out.Push(intake.Event{Kind: intake.Accepted})
	out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.Content, Text: "Hel"}}})
}

// TestDisconnectCancels, streaming and whole: the engine hears of it, with the reason.
func TestDisconnectCancels(t *testing.T) {
	for _, body := range []string{chatHiStream, chatHi} {
		e := newFake()
		submitted := make(chan struct{}, 1)
		e.script = func(r *intake.Request, out *intake.Output) { begun(r, out); submitted <- struct{}{} }
		url, stop := live(t, testServer(t, e, Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-submitted
			cancel()
		}()
		r, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(body))
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
		select {
		case reason := <-e.gone:
			if reason != clientLeft {
				t.Errorf("reason %q, want %q", reason, clientLeft)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the client left and the request was not cancelled")
		}
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if got := e.cancelled(); len(got) != 1 || !strings.HasPrefix(got[0], e.last(t).ID+": ") {
			t.Errorf("cancels %v, want one of %s", got, e.last(t).ID)
		}
	}
}

// TestStalledReaderIsGivenUp: a client that does not read is not waited for for ever.
func TestStalledReaderIsGivenUp(t *testing.T) {
	e := newFake()
	quit := make(chan struct{})
	defer close(quit)
	e.script = func(_ *intake.Request, out *intake.Output) {
		out.Push(intake.Event{Kind: intake.Accepted})
		text := strings.Repeat("x", 1<<20)
		go func() {
			for range 64 {
				out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.Content, Text: text}}})
			}
			<-quit
		}()
	}
	url, _ := live(t, testServer(t, e, Options{WriteTimeout: 200 * time.Millisecond}))
	open(t, t.Context(), url, chatHiStream) // reads the header, then nothing
	select {
	case reason := <-e.gone:
		if !strings.Contains(reason, "did not read") {
			t.Errorf("reason %q", reason)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a client that does not read holds its request")
	}
}

// TestCancelByID ends the stream with an error event, and only that one.
func TestCancelByID(t *testing.T) {
	e := newFake()
	e.script = begun
	url, _ := live(t, testServer(t, e, Options{}))
	resp, body := open(t, t.Context(), url, chatHiStream)
	other, _ := open(t, t.Context(), url, chatHiStream)
	id := resp.Header.Get("X-Request-Id")
	del := func(id string) int {
		r, _ := http.NewRequest("DELETE", url+"/v1/requests/"+id, nil)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := del("chatcmpl-nope"); got != 404 {
		t.Errorf("unknown id: %d, want 404", got)
	}
	if got := del(id); got != 200 {
		t.Errorf("cancel: %d, want 200", got)
	}
	data := dataOf(parseSSE(t, body))
	if len(data) != 4 || !strings.Contains(data[2], "request_cancelled") || data[3] != "[DONE]" {
		t.Errorf("events %q", data)
	}
	for _, c := range e.cancelled() {
		if strings.HasPrefix(c, other.Header.Get("X-Request-Id")) {
			t.Errorf("another request was cancelled: %s", c)
		}
	}
}

// TestPanicInAHandlerCancels: the engine's side does not outlive a handler that panics.
func TestPanicInAHandlerCancels(t *testing.T) {
	e := newFake()
	e.script = func(_ *intake.Request, out *intake.Output) {
		out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.ToolArgs, Text: "args of no call"}}}) // breaks the collector
	}
	w := call(testServer(t, e, Options{}), "POST", "/v1/chat/completions", chatHi)
	message := wantError(t, w, 500, "internal_error", "")
	if !strings.Contains(message, w.Header().Get("X-Request-Id")) || len(e.cancelled()) != 1 {
		t.Errorf("message %q, cancels %v", message, e.cancelled())
	}
}

// TestShutdown: new work is refused, running answers go on, what outlasts the drain is cancelled and told so, Serve
// returns nil.
func TestShutdown(t *testing.T) {
	t.Run("a running answer ends by itself", func(t *testing.T) {
		e := newFake()
		e.script = begun
		s := testServer(t, e, Options{Drain: 20 * time.Second})
		url, stop := live(t, s)
		_, body := open(t, t.Context(), url, chatHiStream)
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		<-s.draining
		wantError(t, call(s, "POST", "/v1/chat/completions", chatHi), 503, "shutting_down", "")
		if w := call(s, "GET", "/readyz", ""); w.Code != 503 {
			t.Errorf("/readyz while draining: %d", w.Code)
		}
		if w := call(s, "GET", "/livez", ""); w.Code != 200 {
			t.Errorf("/livez while draining: %d", w.Code)
		}
		r := e.last(t)
		e.outs[r.ID].Push(intake.Event{Kind: intake.Done, Report: reportOf(r)})
		if got := streamedOf(t, dataOf(parseSSE(t, body)), false); got.Content != "Hel" || got.Finish != "stop" {
			t.Errorf("answer %+v", got)
		}
		if err := <-stopped; err != nil || len(e.cancelled()) != 0 {
			t.Errorf("Serve: %v, cancels %v", err, e.cancelled())
		}
	})
	t.Run("drain limit", func(t *testing.T) {
		e := newFake()
		e.script = begun
		url, stop := live(t, testServer(t, e, Options{Drain: 50 * time.Millisecond}))
		_, body := open(t, t.Context(), url, chatHiStream)
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		data := dataOf(parseSSE(t, body))
		if len(data) != 4 || !strings.Contains(data[2], "shutting_down") || data[3] != "[DONE]" {
			t.Errorf("events %q", data)
		}
		if got := e.cancelled(); len(got) != 1 || !strings.Contains(got[0], "server shutting down") {
			t.Errorf("cancels %v", got)
		}
	})
	t.Run("event streams do not hold it", func(t *testing.T) {
		url, stop := live(t, testServer(t, newFake(), Options{Drain: 20 * time.Second}))
		resp, err := http.Get(url + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		begin := time.Now()
		if err := stop(); err != nil || time.Since(begin) > 10*time.Second {
			t.Errorf("Serve: %v after %v", err, time.Since(begin))
		}
	})
}

// TestSlowHeader: a client that never ends its header is cut off.
func TestSlowHeader(t *testing.T) {
	url, _ := live(t, testServer(t, newFake(), Options{HeaderTimeout: 100 * time.Millisecond}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 4096)
	for {
		if _, err := conn.Read(buf); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatal("the connection was still open after 10 s")
			}
			return
		}
	}
}

// TestSlowBody: nor is a body waited for for ever, while the deadline does not outlive the body.
func TestSlowBody(t *testing.T) {
	e := newFake()
	url, _ := live(t, testServer(t, e, Options{BodyTimeout: 100 * time.Millisecond}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 408 {
		t.Errorf("status %d, want 408", resp.StatusCode)
	}

	e.script = func(r *intake.Request, out *intake.Output) {
		begun(r, out)
		time.AfterFunc(400*time.Millisecond, func() { out.Push(intake.Event{Kind: intake.Done, Report: reportOf(r)}) })
	}
	_, body := open(t, t.Context(), url, chatHiStream)
	if got := streamedOf(t, dataOf(parseSSE(t, body)), false); got.Finish != "stop" {
		t.Errorf("an answer longer than the body timeout: %+v", got)
	}
}

// TestCancelByTheClientsName reaches a request that waits in the queue, before its client has any header of an answer, and none of
// another key.
func TestCancelByTheClientsName(t *testing.T) {
	e := newFake()
	queued := make(chan string, 3)
	e.script = func(r *intake.Request, _ *intake.Output) { queued <- r.ID }
	keys, err := ParseKeys(strings.NewReader("a:aaaaaaaaaaaa\nb:bbbbbbbbbbbb\n"))
	if err != nil {
		t.Fatal(err)
	}
	url, _ := live(t, testServer(t, e, Options{Keys: keys}))
	send := func(method, path, key, name, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header.Set("Authorization", "Bearer "+strings.Repeat(key, 12))
		if name != "" {
			r.Header.Set("X-Client-Request-Id", name)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for _, name := range []string{"my request", "a/b ?c%", "50%25", ".."} {
		path := "/v1/requests/" + neturl.PathEscape(name)
		answers := make(chan int, 2)
		for range 2 { // a name may repeat
			go func() { answers <- send("POST", "/v1/chat/completions", "a", name, chatHiStream) }()
		}
		<-queued
		<-queued
		if got := send("DELETE", path, "b", "", ""); got != 404 {
			t.Errorf("%q, another key's: got %d, want 404", name, got)
		}
		if got := send("DELETE", path, "a", "", ""); got != 200 {
			t.Fatalf("%q, cancel: got %d, want 200", name, got)
		}
		for range 2 {
			if got := <-answers; got != 499 {
				t.Errorf("%q, the queued stream: got %d, want 499", name, got)
			}
		}
		if got := send("DELETE", path, "a", "", ""); got != 404 {
			t.Errorf("%q, over: got %d, want 404", name, got)
		}
	}
	if got := send("POST", "/v1/chat/completions", "a", strings.Repeat("x", 513), chatHiStream); got != 400 {
		t.Errorf("a name too long: got %d, want 400", got)
	}
}

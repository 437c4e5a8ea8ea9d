package sse

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// counting counts writes and flushes.
type counting struct {
	*httptest.ResponseRecorder
	writes, flushes int
	fail            error
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes++
	if c.fail != nil {
		return 0, c.fail
	}
	return c.ResponseRecorder.Write(p)
}

func (c *counting) FlushError() error {
	c.flushes++
	c.ResponseRecorder.Flush()
	return nil
}

func TestWriter(t *testing.T) {
	c := &counting{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(c, 0)
	if err := w.Start(); err != nil || c.Code != http.StatusOK || c.Header().Get("Content-Type") != "text/event-stream" || c.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("Start: %v, code %d, header %v", err, c.Code, c.Header())
	}
	c.flushes = 0
	w.Data(map[string]string{"a": "<\n\u2028>"})
	w.Event("lane", 5)
	w.Comment("keep\nalive")
	w.Text("[DONE]")
	if !w.Pending() || c.writes != 0 {
		t.Errorf("pending %v after %d writes, want true after none", w.Pending(), c.writes)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "data: {\"a\":\"<\\n\\u2028>\"}\n\nevent: lane\ndata: 5\n\n: keep alive\n\ndata: [DONE]\n\n"
	if got := c.Body.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.writes != 1 || c.flushes != 1 || w.Pending() {
		t.Errorf("%d writes and %d flushes, want one of each", c.writes, c.flushes)
	}
}

func TestWriterKeepsItsError(t *testing.T) {
	gone := errors.New("gone")
	c := &counting{ResponseRecorder: httptest.NewRecorder(), fail: gone}
	w := NewWriter(c, 0)
	for range 2 {
		w.Data(1)
		if err := w.Flush(); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	}
	if c.writes != 1 {
		t.Errorf("%d writes after an error, want 1", c.writes)
	}
}

func TestUnmarshallableIsAnErrorNotAHalfEvent(t *testing.T) {
	c := &counting{ResponseRecorder: httptest.NewRecorder()}
	w := NewWriter(c, 0)
	w.Data(make(chan int))
	if err := w.Flush(); err == nil || c.writes != 0 {
		t.Errorf("got %v after %d writes, want an error and none", err, c.writes)
	}
}

func TestDiscard(t *testing.T) {
	w := Discard()
	w.Data(1)
	w.Text("x")
	w.Comment("x")
	if err := w.Flush(); err != nil || w.Pending() {
		t.Errorf("flush: %v, pending %v", err, w.Pending())
	}
}

// BenchmarkEvent is the cost of one chunk: encode, write, flush.
func BenchmarkEvent(b *testing.B) {
	w := NewWriter(discard{}, 0)
	v := struct {
		ID    string `json:"id"`
		Delta string `json:"delta"`
	}{"chatcmpl-0123456789abcdef01234567", "some words of text"}
	b.ReportAllocs()
	for b.Loop() {
		w.Data(&v)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

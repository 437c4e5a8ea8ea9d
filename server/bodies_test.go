package server

import (
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// TestBodiesTogether: bodies that are fine one by one are refused while others fill the room, small ones are not, and the
// room is free again as soon as a body has become a request or an error.
func TestBodiesTogether(t *testing.T) {
	const limit = 1 << 20 // of all bodies, as they came
	s := testServer(t, newFake(), Options{BodyMemory: limit * bodyCost})
	large := with(`"user":"` + strings.Repeat("x", limit*2/3) + `"`)
	post := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://127.0.0.1:8080/v1/chat/completions", body)
		r.RemoteAddr = "127.0.0.1:40000"
		r.ContentLength = -1
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	// The first client stops before its last byte.
	pr, pw := io.Pipe()
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- post(pr) }()
	if _, err := io.WriteString(pw, large[:len(large)-1]); err != nil {
		t.Fatal(err)
	}
	for s.bodies.held.Load() < int64(len(large)-1-smallBody) {
		runtime.Gosched() // what was written has been read, and is being counted
	}
	w := post(strings.NewReader(large))
	wantError(t, w, 503, "overloaded", "")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: got %q, want 1", got)
	}
	if w := post(strings.NewReader(chatHi)); w.Code != 200 {
		t.Errorf("a small body beside a large one: got %d %s", w.Code, w.Body)
	}
	if _, err := io.WriteString(pw, large[len(large)-1:]); err != nil {
		t.Fatal(err)
	}
	_ = pw.Close()
	<-first
	if held := s.bodies.held.Load(); held != 0 {
		t.Errorf("after all are answered: %d bytes are still on the books", held)
	}
	if w := post(strings.NewReader(large)); w.Code == 503 {
		t.Errorf("after all are answered: got %d %s", w.Code, w.Body)
	}
	wantError(t, post(strings.NewReader(with(`"user":"`+strings.Repeat("x", limit)+`"`))), 413, "body_too_large", "")
}

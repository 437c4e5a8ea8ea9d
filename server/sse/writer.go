package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Writer is one event stream. Nothing is sent before the first Flush or Start.
type Writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	buf     bytes.Buffer
	enc     *json.Encoder
	err     error
}

// NewWriter returns a writer on w. A write or flush that takes longer than timeout (a client that does not read) is an
// error; 0 waits for ever.
func NewWriter(w http.ResponseWriter, timeout time.Duration) *Writer {
	s := &Writer{w: w, rc: http.NewResponseController(w), timeout: timeout}
	s.enc = json.NewEncoder(&s.buf)
	s.enc.SetEscapeHTML(false)
	return s
}

// Discard returns a writer that drops everything, for a caller that wants only what else writing does.
func Discard() *Writer { return &Writer{} }

// Prepare sets the headers of an event stream; the first Flush commits them with status 200.
func (s *Writer) Prepare() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
}

// Start commits the response before there is an event.
func (s *Writer) Start() error {
	s.Prepare()
	s.w.WriteHeader(http.StatusOK)
	return s.Flush()
}

// Data appends one event whose data is v as JSON. Nothing is sent before Flush.
func (s *Writer) Data(v any) { s.Event("", v) }

// Event appends one event with a name ("" for none) and v as its JSON data.
func (s *Writer) Event(name string, v any) {
	if s.w == nil {
		return
	}
	if name != "" {
		s.buf.WriteString("event: ")
		s.buf.WriteString(name)
		s.buf.WriteByte('\n')
	}
	s.buf.WriteString("data: ")
	mark := s.buf.Len()
	if err := s.enc.Encode(v); err != nil { // a value of ours that cannot be marshalled
		s.buf.Truncate(mark)
		s.buf.WriteString("null\n")
		if s.err == nil {
			s.err = err
		}
	}
	s.buf.WriteByte('\n') // Encode has ended the line
}

// Text appends one event with literal data of one line ("[DONE]").
func (s *Writer) Text(data string) {
	if s.w == nil {
		return
	}
	s.buf.WriteString("data: ")
	s.buf.WriteString(data)
	s.buf.WriteString("\n\n")
}

// Comment appends a comment, which clients skip. Line breaks in it become spaces.
func (s *Writer) Comment(text string) {
	if s.w == nil {
		return
	}
	s.buf.WriteString(": ")
	s.buf.WriteString(strings.NewReplacer("\r", " ", "\n", " ").Replace(text))
	s.buf.WriteString("\n\n")
}

// Pending reports whether something waits for Flush.
func (s *Writer) Pending() bool { return s.buf.Len() > 0 }

// Flush sends what was appended in one write. After an error it keeps returning it.
func (s *Writer) Flush() error {
	if s.err != nil || s.w == nil {
		return s.err
	}
	if s.timeout > 0 {
		s.deadline(time.Now().Add(s.timeout))
	}
	if s.buf.Len() > 0 {
		_, s.err = s.w.Write(s.buf.Bytes())
		s.buf.Reset()
	}
	if s.err == nil {
		s.err = s.rc.Flush()
	}
	if s.timeout > 0 && s.err == nil {
		s.deadline(time.Time{})
	}
	return s.err
}

// deadline is not supported by every ResponseWriter (recorders in tests); then writes simply have none.
func (s *Writer) deadline(t time.Time) {
	if err := s.rc.SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) && s.err == nil {
		s.err = err
	}
}

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/chat"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/tokenizer"
)

// fakeEngine plays a script for every request and writes down what the server asked of it.
type fakeEngine struct {
	script func(r *intake.Request, out *intake.Output) // nil: hello

	mu       sync.Mutex
	requests []*intake.Request
	cancels  []string // "id: reason"
	outs     map[string]*intake.Output
	lanes    []Lane
	faults   []string
	notReady error
	rows     *Rows
	feed     chan Event
	extra    []prometheus.Collector
	gone     chan string // every cancel, as it happens
}

func newFake() *fakeEngine {
	return &fakeEngine{outs: map[string]*intake.Output{}, feed: make(chan Event, 16), gone: make(chan string, 64),
		lanes: []Lane{{Name: "ple_cached_aux", Enabled: true, Status: "installed", Windows: 7}, {Name: "qsa_pooled_rowsel", Enabled: true, Status: "installed"}}}
}

func (f *fakeEngine) Submit(_ context.Context, r *intake.Request) *intake.Output {
	out := intake.NewOutput()
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.outs[r.ID] = out
	script := f.script
	f.mu.Unlock()
	if script == nil {
		script = hello
	}
	script(r, out)
	return out
}

func (f *fakeEngine) Cancel(id, reason string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, ok := f.outs[id]
	if !ok {
		return false
	}
	f.cancels = append(f.cancels, id+": "+reason)
	out.Push(intake.Event{Kind: intake.Failed, Err: fmt.Errorf("%s: %w", reason, intake.ErrCancelled)})
	select {
	case f.gone <- reason:
	default:
	}
	return true
}

func (f *fakeEngine) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Status{Rows: f.rows, Active: 2, Queued: 1, Slots: 4, QueueLimit: 64, Tokens: 123, DeviceKind: "cpu/generic/f32", Precision: "exact", Depth: 3, Acceptance: "coupled", Pack: "nano", Print: "abc", Uptime: 1.5}
}

func (f *fakeEngine) Actors() []ActorInfo {
	return []ActorInfo{{Path: "root/drafter", Kind: "drafter", Restarts: 2, State: "running"}}
}

func (f *fakeEngine) Fault(name string) error {
	if name != "drafter" {
		return fmt.Errorf("%w: %s", ErrUnknownActor, name)
	}
	f.faults = append(f.faults, name)
	return nil
}

func (f *fakeEngine) Events(ctx context.Context) <-chan Event { return f.feed }

func (f *fakeEngine) Lanes() []Lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lanes)
}

func (f *fakeEngine) SetLane(_ context.Context, name string, on bool) (Lane, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.lanes {
		if f.lanes[i].Name == name {
			f.lanes[i].Enabled, f.lanes[i].Status = on, "switching"
			return f.lanes[i], nil
		}
	}
	return Lane{}, fmt.Errorf("%w: %q", ErrUnknownLane, name)
}

func (f *fakeEngine) LaneDefaults() any {
	return map[string]any{"model_gate": "qwen4_exp", "lanes": []string{"ple_cached_aux", "qsa_pooled_rowsel"}}
}

func (f *fakeEngine) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notReady
}

func (f *fakeEngine) Collectors() []prometheus.Collector { return f.extra }

func (f *fakeEngine) last(t *testing.T) *intake.Request {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.requests) == 0 {
		t.Fatal("no request reached the engine")
	}
	return f.requests[len(f.requests)-1]
}

func (f *fakeEngine) cancelled() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.cancels)
}

// reportOf is a report with a value of its own in every field.
func reportOf(r *intake.Request) *intake.Report {
	return &intake.Report{ID: r.ID, Finish: intake.FinishStop, PromptTokens: len(r.Prompt), CachedTokens: 1, CompletionTokens: 9, ReasoningTokens: 3,
		AcceptedDrafts: 5, RejectedDrafts: 4, Rounds: 4, Depth: r.Depth, Rule: r.Rule.String(), Seed: r.Sampling.Seed, Restarts: 1,
		Lanes: map[string]bool{"ple_cached_aux": true, "qsa_pooled_rowsel": false}, LaneUse: map[string]intake.LaneUse{"ple_cached_aux": {Windows: 5, FailOver: 1}},
		Queued: time.Millisecond, Prefill: 2 * time.Millisecond, FirstToken: 4 * time.Millisecond, Decode: 8 * time.Millisecond,
		ReasoningSHA: strings.Repeat("a", 64), TextSHA: strings.Repeat("b", 64), TokensSHA: strings.Repeat("c", 64)}
}

// hello is an answer with reasoning and text, in pieces.
func hello(r *intake.Request, out *intake.Output) {
	say(r, out, []chat.Delta{{Kind: chat.Reasoning, Text: "Let me"}}, []chat.Delta{{Kind: chat.Reasoning, Text: " see."}, {Kind: chat.Content, Text: "He"}},
		[]chat.Delta{}, []chat.Delta{{Kind: chat.Content, Text: "llo, "}, {Kind: chat.Content, Text: "<wörld> & \"all\"\n"}})
}

// say accepts, gives rounds of deltas and ends.
func say(r *intake.Request, out *intake.Output, rounds ...[]chat.Delta) {
	out.Push(intake.Event{Kind: intake.Accepted})
	out.Push(intake.Event{Kind: intake.Progress, Prefilled: len(r.Prompt), PromptTokens: len(r.Prompt)})
	for _, d := range rounds {
		out.Push(intake.Event{Kind: intake.Delta, Deltas: d})
	}
	out.Push(intake.Event{Kind: intake.Done, Report: reportOf(r)})
}

// failing ends with err at once, or after a first piece of text.
func failing(err error, begun bool) func(*intake.Request, *intake.Output) {
	return func(_ *intake.Request, out *intake.Output) {
		if begun {
			out.Push(intake.Event{Kind: intake.Accepted})
			out.Push(intake.Event{Kind: intake.Delta, Deltas: []chat.Delta{{Kind: chat.Content, Text: "Hel"}}})
		}
		out.Push(intake.Event{Kind: intake.Failed, Err: err})
	}
}

var nano = sync.OnceValues(func() (*Model, error) {
	read := func(name string) []byte {
		b, err := os.ReadFile("../nano/pack/" + name)
		if err != nil {
			panic(err)
		}
		return b
	}
	tok, err := tokenizer.Load(read("tokenizer.json"), read("tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(string(read("chat_template.jinja")), read("tokenizer_config.json"))
	if err != nil {
		return nil, err
	}
	m := &Model{ID: "nano", Created: 1700000000, Context: 4096, Tokenizer: tok, Template: template, Vocab: sample.NewVocab(tok.Size(), tok.Known),
		Defaults: sample.Defaults(), Depth: 3, MaxDepth: 7, DeviceKind: "cpu/generic/f32", Precision: "exact", Fingerprint: strings.Repeat("f", 64)}
	end, _ := tok.ID("<|im_end|>")
	m.Grammars = NewGrammars(tok, tok.Size(), []int32{end})
	m.Defaults.Temperature, m.Defaults.TopP, m.Defaults.TopK = 0.6, 0.95, 20
	return m, nil
})

// testModel is nano's own tokenizer and template, without its weights.
func testModel(t testing.TB) *Model {
	t.Helper()
	m, err := nano()
	if err != nil {
		t.Fatal(err)
	}
	c := *m
	return &c
}

// testServer is a server on the fake with the options of o.
func testServer(t testing.TB, e *fakeEngine, o Options) *Server {
	t.Helper()
	o.Log = zerolog.Nop()
	s, err := New(o, e, testModel(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call sends one request and returns the answer.
func call(s *Server, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:40000"
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// wantError checks an answer for OpenAI's error shape.
func wantError(t *testing.T, w *httptest.ResponseRecorder, status int, code, param string) string {
	t.Helper()
	var got struct {
		Error map[string]any `json:"error"`
	}
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("status %d, body %q is no error object: %v", w.Code, w.Body, err)
	}
	for _, field := range []string{"message", "type", "param", "code"} {
		if _, ok := got.Error[field]; !ok {
			t.Errorf("error %v has no %s", got.Error, field)
		}
	}
	gotParam, _ := got.Error["param"].(string)
	if w.Code != status || got.Error["code"] != code || gotParam != param {
		t.Errorf("got status %d, code %v, param %q (%v), want %d, %s, %q", w.Code, got.Error["code"], gotParam, got.Error["message"], status, code, param)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q, want application/json", ct)
	}
	message, _ := got.Error["message"].(string)
	return message
}

// sseEvent is one event of a transcript.
type sseEvent struct{ name, data, comment string }

// parseSSE reads a transcript strictly: only event, data and comment lines, each event ended by an empty line.
func parseSSE(t testing.TB, r io.Reader) []sseEvent {
	t.Helper()
	var out []sseEvent
	var e sseEvent
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 16<<20)
	open := false
	for scan.Scan() {
		line := scan.Text()
		switch {
		case line == "":
			out, e, open = append(out, e), sseEvent{}, false
			continue
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			e.data = line[6:]
		case strings.HasPrefix(line, ": "):
			e.comment = line[2:]
		default:
			t.Fatalf("line %q is no line of an event stream", line)
		}
		open = true
	}
	if open {
		t.Fatalf("the stream ends inside an event: %+v", e)
	}
	return out
}

// dataOf lists the data of events, without comments.
func dataOf(events []sseEvent) []string {
	var out []string
	for _, e := range events {
		if e.data != "" {
			out = append(out, e.data)
		}
	}
	return out
}

func decode(t testing.TB, data string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
}

const chatHi = `{"messages":[{"role":"user","content":"hi"}]}`
const chatHiStream = `{"messages":[{"role":"user","content":"hi"}],"stream":true}`

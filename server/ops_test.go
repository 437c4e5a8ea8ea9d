package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func serve(s *Server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// object decodes an answer of status 200.
func object(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var v map[string]any
	decode(t, w.Body.String(), &v)
	return v
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	for _, route := range []string{"GET /nowhere", "POST /v1/embeddings", "GET /v1", "GET /v1/", "GET /v1/models/"} {
		method, path, _ := strings.Cut(route, " ")
		w := call(s, method, path, "")
		if path == "/v1/models/" {
			wantError(t, w, 404, "model_not_found", "model")
			continue
		}
		wantError(t, w, 404, "unknown_route", "")
	}
	for _, route := range []string{"GET /v1/chat/completions", "PUT /v1/completions", "POST /v1/models", "POST /health", "DELETE /v1/lanes/ple_cached_aux", "GET /v1/requests/x"} {
		method, path, _ := strings.Cut(route, " ")
		w := call(s, method, path, "")
		wantError(t, w, 405, "method_not_allowed", "")
		if w.Header().Get("Allow") == "" {
			t.Errorf("%s: no Allow header", route)
		}
	}
}

func TestModels(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	card := map[string]any{"id": "nano", "object": "model", "created": 1.7e9, "owned_by": "flashlane", "context_length": 4096.0, "max_model_len": 4096.0,
		"max_output_tokens": 4095.0, "depth": 3.0, "max_depth": 7.0, "acceptance": "coupled",
		"sampling": map[string]any{"temperature": 0.6, "top_p": 0.95, "top_k": 20.0, "min_p": 0.0}}
	if d := cmp.Diff(map[string]any{"object": "list", "data": []any{card}}, object(t, call(s, "GET", "/v1/models", ""))); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	if d := cmp.Diff(card, object(t, call(s, "GET", "/v1/models/nano", ""))); d != "" {
		t.Errorf("card (-want +got):\n%s", d)
	}
	wantError(t, call(s, "GET", "/v1/models/gpt-4", ""), 404, "model_not_found", "model")
}

func TestHealth(t *testing.T) {
	e := newFake()
	s := testServer(t, e, Options{Version: "1.2"})
	got := object(t, call(s, "GET", "/health", ""))
	for field, want := range map[string]any{"status": "ok", "ready": true, "version": "1.2", "model": "nano", "active": 2.0, "queued": 1.0, "slots": 4.0, "tokens": 123.0,
		"device_kind": "cpu/generic/f32", "precision": "exact", "depth": 3.0, "acceptance": "coupled", "exact": true, "fingerprint": "abc", "uptime_s": 1.5} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
	if lanes := got["aux_lane_defaults"].(map[string]any)["lanes"]; lanes == nil {
		t.Error("no aux_lane_defaults.lanes")
	}
	e.mu.Lock()
	e.rows = &Rows{Trouble: "cut short"}
	e.mu.Unlock()
	got = object(t, call(s, "GET", "/health", ""))
	if got["status"] != "degraded" || got["ready"] != true || got["reason"] != "cut short" {
		t.Errorf("table cannot be read: %v", got)
	}
	e.mu.Lock()
	e.notReady = errors.New("loading")
	e.mu.Unlock()
	got = object(t, call(s, "GET", "/health", ""))
	if got["status"] != "not ready" || got["ready"] != false || got["reason"] != "loading" {
		t.Errorf("not ready: %v", got)
	}
	if w := call(s, "GET", "/readyz", ""); w.Code != 503 {
		t.Errorf("/readyz: %d, want 503", w.Code)
	}
	if w := call(s, "GET", "/livez", ""); w.Code != 200 {
		t.Errorf("/livez: %d, want 200", w.Code)
	}
}

func TestLanes(t *testing.T) {
	s := testServer(t, newFake(), Options{})
	list := object(t, call(s, "GET", "/v1/lanes", ""))["lanes"].([]any)
	if len(list) != 2 || list[0].(map[string]any)["name"] != "ple_cached_aux" || list[0].(map[string]any)["windows"] != 7.0 {
		t.Errorf("lanes %v", list)
	}
	got := object(t, call(s, "PUT", "/v1/lanes/ple_cached_aux", `{"enabled":false}`))
	if got["enabled"] != false || got["status"] != "switching" {
		t.Errorf("switched: %v", got)
	}
	message := wantError(t, call(s, "PUT", "/v1/lanes/bogus", `{"enabled":false}`), 404, "unknown_lane", "lane")
	if !strings.Contains(message, "ple_cached_aux, qsa_pooled_rowsel") {
		t.Errorf("message %q lists no lanes", message)
	}
	for body, param := range map[string]string{`{}`: "enabled", `{"enabled":1}`: "enabled", `{"enabled":true,"x":1}`: "x", ``: "", `[]`: ""} {
		w := call(s, "PUT", "/v1/lanes/ple_cached_aux", body)
		if w.Code != 400 {
			t.Errorf("%s: %d", body, w.Code)
		}
		if param != "" && !strings.Contains(w.Body.String(), `"param":"`+param+`"`) {
			t.Errorf("%s: %s does not name %s", body, w.Body, param)
		}
	}
}

type decliningEngine struct{ *fakeEngine }

func (decliningEngine) SetLane(context.Context, string, bool) (Lane, error) {
	return Lane{}, ErrLaneDeclined
}

func TestDeclinedLaneIsAConflict(t *testing.T) {
	s, err := New(Options{}, decliningEngine{newFake()}, testModel(t))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, call(s, "PUT", "/v1/lanes/ple_cached_aux", `{"enabled":true}`), 409, "lane_declined", "lane")
}

func TestActors(t *testing.T) {
	got := object(t, call(testServer(t, newFake(), Options{}), "GET", "/v1/actors", ""))
	want := map[string]any{"actors": []any{map[string]any{"path": "root/drafter", "kind": "drafter", "restarts": 2.0, "state": "running"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMetrics(t *testing.T) {
	e := newFake()
	rounds := prometheus.NewCounter(prometheus.CounterOpts{Name: "flashlane_rounds_total", Help: "Rounds."})
	rounds.Add(41)
	e.extra = []prometheus.Collector{rounds}
	s := testServer(t, e, Options{})
	call(s, "POST", "/v1/chat/completions", chatHiStream)
	call(s, "POST", "/v1/chat/completions", `{`)
	call(s, "BREW", "/v1/some/path/of/a/client", "")
	w := call(s, "GET", "/metrics", "")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("the exposition does not parse: %v", err)
	}
	for _, name := range []string{"flashlane_http_requests_total", "flashlane_http_request_seconds", "flashlane_http_in_flight", "flashlane_http_first_text_seconds", "go_goroutines", "process_start_time_seconds"} {
		if families[name] == nil {
			t.Errorf("no family %s", name)
		}
	}
	if got := families["flashlane_rounds_total"].GetMetric()[0].GetCounter().GetValue(); got != 41 {
		t.Errorf("the engine's counter: %v, want 41", got)
	}
	counts := map[string]float64{}
	for _, m := range families["flashlane_http_requests_total"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		counts[labels["method"]+" "+labels["route"]+" "+labels["code"]] = m.GetCounter().GetValue()
	}
	if d := cmp.Diff(map[string]float64{"POST /v1/chat/completions 200": 1, "POST /v1/chat/completions 400": 1, "other unknown 404": 1}, counts); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	e.extra = []prometheus.Collector{rounds, rounds}
	if _, err := New(Options{}, e, testModel(t)); err == nil {
		t.Error("two collectors of one name: got no error")
	}
}

// TestProbesAnswerAtOnce: many running streams do not slow health and metrics, because neither asks the engine to do
// anything. The bound is the issue's.
func TestProbesAnswerAtOnce(t *testing.T) {
	e := newFake()
	e.script = begun
	s := testServer(t, e, Options{})
	url, _ := live(t, s)
	for range 50 {
		open(t, t.Context(), url, chatHiStream)
	}
	for _, path := range []string{"/health", "/metrics", "/livez", "/readyz"} {
		best := time.Hour
		for range 5 { // the best of five: the machine is shared
			begin := time.Now()
			resp, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			best = min(best, time.Since(begin))
		}
		if best > 50*time.Millisecond {
			t.Errorf("%s took %v with 50 streams open, want 50 ms at most", path, best)
		}
	}
}

func TestIndex(t *testing.T) {
	if got := object(t, call(testServer(t, newFake(), Options{}), "GET", "/", "", "Accept", "application/json")); got["name"] != "flashlane" || got["model"] != "nano" {
		t.Errorf("%v", got)
	}
}

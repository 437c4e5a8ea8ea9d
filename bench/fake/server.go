package fake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Template is how many tokens the fake chat template adds.
const Template = 8

// Server is the fake. Its fields may be set before it is asked for anything.
type Server struct {
	Context int           // 4096 by default
	Pace    time.Duration // between tokens
	Prefill time.Duration // before the first token

	Cached     int             // cached_tokens of every answer
	Secret     int             // tokens from the cache that only /metrics tells of, per answer
	Cold       int             // rows that came from disk, per answer
	Extra      int             // tokens that prompts have beyond what count_tokens says
	Busy       int             // so many first requests get 429
	Break      int             // streams break off after so many tokens; 0: they do not
	OneRound   bool            // answers say that they came in one round
	Empty      bool            // answers are empty texts
	NoDigest   bool            // digests are those of empty texts
	Lying      string          // a lane that changes the tokens
	Precision  string          // exact by default
	Declined   string          // a lane that the server lacks something for
	Stuck      string          // a lane that cannot be switched off
	Idle       string          // a lane that is in force and does no work
	Restarting bool            // actors restart during every answer
	Lanes      map[string]bool // state of the lanes

	URL string

	mu       sync.Mutex
	asked    int
	restarts int
	windows  map[string]int
	Log      []string // "chat LANES SEED" and "lane NAME BOOL", in order
}

// Start serves until the test ends.
func (s *Server) Start(t testing.TB) *Server {
	t.Helper()
	if s.Context == 0 {
		s.Context = 4096
	}
	if s.Lanes == nil {
		s.Lanes = map[string]bool{"ple_cached_aux": true, "qsa_pooled_rowsel": true}
	}
	if s.Precision == "" {
		s.Precision = "exact"
	}
	s.windows = map[string]int{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %v\nx_total{a=\"1\"} 1\nx_total{a=\"2\"} 2\nx_total_more 9\nflashlane_prefix_tokens_total %d\nflashlane_rows_cold_reads_total %d\n", time.Now().UnixNano()%1e15, s.reused(), s.coldReads())
	})
	mux.HandleFunc("GET /v1/lanes", s.lanes)
	mux.HandleFunc("PUT /v1/lanes/{lane}", s.setLane)
	mux.HandleFunc("GET /v1/actors", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintf(w, `{"actors":[{"path":"a","restarts":%d},{"path":"b","restarts":0}]}`, s.restarts)
	})
	mux.HandleFunc("POST /v1/messages/count_tokens", s.count)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

func (s *Server) reused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked * (s.Cached + s.Secret)
}

func (s *Server) coldReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked * s.Cold
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"ready":true,"model":"fake","context_length":%d,"active":0,"queued":0,"slots":8,"queue_limit":256,"depth":3,`+
		`"acceptance":"coupled","device_kind":"fake/f32","precision":%q,"memory":{"weights":1,"resident":%d}}`, s.Context, s.Precision, 64<<20)
}

func (s *Server) lanes(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []map[string]any
	for name, on := range s.Lanes {
		status := "off"
		if on {
			status = "installed"
		}
		if name == s.Declined {
			status = "declined"
		}
		list = append(list, map[string]any{"name": name, "enabled": on, "status": status, "windows": s.windows[name]})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"lanes": list})
}

func (s *Server) setLane(w http.ResponseWriter, r *http.Request) {
	var body struct{ Enabled bool }
	name := r.PathValue("lane")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.Lanes[name]; !ok || json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"message":"there is no lane %q","code":"unknown_lane"}}`, name)
		return
	}
	s.Log = append(s.Log, fmt.Sprintf("lane %s %v", name, body.Enabled))
	if name != s.Stuck {
		s.Lanes[name] = body.Enabled
	}
	fmt.Fprintf(w, `{"name":%q,"enabled":%v}`, name, body.Enabled)
}

type message struct{ Content string }

func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []message }
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) != 1 {
		http.Error(w, `{"error":{"message":"bad","code":"bad"}}`, http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"input_tokens":%d}`, Template+len(strings.Fields(body.Messages[0].Content)))
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Messages []message
		Max      int `json:"max_tokens"`
		Seed     uint64
		Stream   bool
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Messages) != 1 || !ask.Stream {
		http.Error(w, `{"error":{"message":"bad","code":"bad"}}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked++
	if s.asked <= s.Busy {
		s.mu.Unlock()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"message":"the queue is full","code":"queue_full"}}`)
		return
	}
	lanes, state := map[string]bool{}, ""
	for _, name := range []string{"ple_cached_aux", "qsa_pooled_rowsel"} {
		if lanes[name] = s.Lanes[name]; lanes[name] {
			state += "+"
			if name != s.Idle {
				s.windows[name]++
			}
		} else {
			state += "-"
		}
	}
	if s.Restarting {
		s.restarts++
	}
	s.Log = append(s.Log, fmt.Sprintf("chat %s %d", state, ask.Seed))
	s.mu.Unlock()
	time.Sleep(s.Prefill)
	salt := ""
	if s.Lying != "" && lanes[s.Lying] {
		salt = "!"
	}
	out := json.NewEncoder(w)
	send := func(v any) {
		fmt.Fprint(w, "data: ")
		_ = out.Encode(v)
		fmt.Fprint(w, "\n")
		w.(http.Flusher).Flush()
	}
	delta := func(d map[string]string, finish any) any {
		return map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}}
	}
	send(delta(map[string]string{"role": "assistant", "content": ""}, nil))
	fmt.Fprint(w, ": keep-alive\n\n")
	text := ""
	for i := range ask.Max {
		if s.Break > 0 && i == s.Break {
			return
		}
		if i > 0 {
			time.Sleep(s.Pace)
		}
		token := fmt.Sprintf("%s%d ", salt, uint64(i)^ask.Seed)
		text += token
		if !s.Empty {
			send(delta(map[string]string{"reasoning_content": token}, nil))
		}
	}
	send(delta(nil, "length"))
	rounds := ask.Max
	if s.OneRound {
		rounds = 1
	}
	digest := func(x string) any {
		if s.Empty || s.NoDigest {
			return map[string]bool{"empty": true}
		}
		sum := sha256.Sum256([]byte(ask.Messages[0].Content + x))
		return hex.EncodeToString(sum[:])
	}
	send(map[string]any{"choices": []any{}, "usage": map[string]any{
		"prompt_tokens": Template + s.Extra + len(strings.Fields(ask.Messages[0].Content)), "completion_tokens": ask.Max,
		"prompt_tokens_details": map[string]int{"cached_tokens": s.Cached}},
		"flashlane": map[string]any{"rounds": rounds, "depth": 3, "lanes": lanes, "tokens_sha256": digest(text), "reasoning_sha256": digest(text),
			"text_sha256": map[string]bool{"empty": true}, "timings": map[string]float64{"prefill_ms": 2, "prefill_tok_s": 1000, "decode_ms": 2, "decode_tok_s": 500}}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// TestMain runs the program itself when a test asks for it, so that tests see what a user sees: flags, output, exit status.
func TestMain(m *testing.M) {
	if os.Getenv("FLASHLANE_TEST_MAIN") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is this test binary as flashlane.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "FLASHLANE_TEST_MAIN=1")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// runProgram runs it to its end.
func runProgram(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// served is a server under test.
type served struct {
	url string
	cmd *exec.Cmd
	mu  sync.Mutex
	log []string

	said chan struct{} // closed when its standard error has ended
}

// serve starts it on a free loopback port and waits until it says where.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{cmd: program(t.Context(), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), said: make(chan struct{})}
	pipe, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s.mu.Lock()
			s.log = append(s.log, lines.Text())
			s.mu.Unlock()
			var l struct{ Message, Address string }
			if json.Unmarshal(lines.Bytes(), &l) == nil && l.Message == "serving" {
				address <- l.Address
			}
		}
		close(address)
		close(s.said)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	url, ok := <-address
	if !ok {
		t.Fatalf("the server ended before it served:\n%s", strings.Join(s.lines(), "\n"))
	}
	s.url = url
	return s
}

func (s *served) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

func (s *served) do(t *testing.T, method, path string, body any) (int, []byte) {
	t.Helper()
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, r)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, raw
}

type object = map[string]any

func question(text string, more object) object {
	b := object{"messages": []object{{"role": "user", "content": text}}, "temperature": 0}
	for k, v := range more {
		b[k] = v
	}
	return b
}

// answer is the part of a whole answer that tests look at.
type answer struct {
	ID      string
	Choices []struct {
		Message struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Flashlane struct {
		Rounds   int
		Restarts int
		Tokens   string `json:"tokens_sha256"`
		Lanes    map[string]bool
	}
}

func (s *served) ask(t *testing.T, body object) answer {
	t.Helper()
	code, raw := s.do(t, "POST", "/v1/chat/completions", body)
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, raw)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

const trimSpace = "What does strings.TrimSpace do?"

// TestServe is a user's first hour: a chat, a stream, a tool call, a lane switched, an actor killed, a request cancelled.
func TestServe(t *testing.T) {
	s := startServe(t, "--debug-faults")
	for _, lane := range []string{"ple_cached_aux", "qsa_pooled_rowsel"} {
		if !strings.Contains(strings.Join(s.lines(), "\n"), "lane "+lane+" armed") {
			t.Errorf("no verdict line of lane %s before the server is ready", lane)
		}
	}
	first := s.ask(t, question(trimSpace, nil))
	if m := first.Choices[0].Message; !strings.Contains(m.Content, "white space removed") || m.Reasoning == "" || first.Choices[0].Finish != "stop" {
		t.Errorf("answer: got %+v", first.Choices[0])
	}
	if first.Flashlane.Rounds == 0 || !first.Flashlane.Lanes["ple_cached_aux"] || !first.Flashlane.Lanes["qsa_pooled_rowsel"] {
		t.Errorf("flashlane: got %+v, want rounds and both lanes", first.Flashlane)
	}

	t.Run("stream", func(t *testing.T) {
		code, raw := s.do(t, "POST", "/v1/chat/completions", question(trimSpace, object{"stream": true, "stream_options": object{"include_usage": true}}))
		var content, reasoning string
		for line := range strings.Lines(string(raw)) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {")
			if !ok {
				continue
			}
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content   string
						Reasoning string `json:"reasoning_content"`
					}
				}
			}
			if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
				t.Fatal(err)
			}
			for _, c := range chunk.Choices {
				content += c.Delta.Content
				reasoning += c.Delta.Reasoning
			}
		}
		m := first.Choices[0].Message
		if code != 200 || content != m.Content || reasoning != m.Reasoning || !strings.Contains(string(raw), "data: [DONE]") {
			t.Errorf("stream: status %d, content %q, reasoning %q, want the whole answer's", code, content, reasoning)
		}
	})
	t.Run("tools", func(t *testing.T) {
		tool := object{"type": "function", "function": object{"name": "get_weather", "description": "Get the current weather in a city.",
			"parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}}}}
		a := s.ask(t, question("What is the weather in Paris?", object{"tools": []object{tool}}))
		calls := a.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "get_weather" || calls[0].Function.Arguments != `{"city":"Paris"}` && calls[0].Function.Arguments != `{"city": "Paris"}` || a.Choices[0].Finish != "tool_calls" {
			t.Errorf("tool call: got %+v", a.Choices[0])
		}
	})
	t.Run("lanes", func(t *testing.T) {
		code, raw := s.do(t, "PUT", "/v1/lanes/ple_cached_aux", object{"enabled": false})
		if code != 200 || !strings.Contains(string(raw), `"enabled":false`) {
			t.Errorf("switch off: %d %s", code, raw)
		}
		a := s.ask(t, question(trimSpace, nil))
		if a.Flashlane.Lanes["ple_cached_aux"] || a.Flashlane.Tokens != first.Flashlane.Tokens {
			t.Errorf("with the lane off: lanes %v, same tokens %v, want it off and not a byte changed", a.Flashlane.Lanes, a.Flashlane.Tokens == first.Flashlane.Tokens)
		}
		if code, raw := s.do(t, "PUT", "/v1/lanes/nope", object{"enabled": true}); code != 404 || !strings.Contains(string(raw), "qsa_pooled_rowsel") {
			t.Errorf("unknown lane: %d %s, want 404 that lists the lanes", code, raw)
		}
		s.do(t, "PUT", "/v1/lanes/ple_cached_aux", object{"enabled": true})
	})
	t.Run("faults", func(t *testing.T) {
		for _, actor := range []string{"drafter", "stager", "verifier", "indexer"} {
			if code, raw := s.do(t, "POST", "/debug/fault", object{"actor": actor}); code != 202 {
				t.Errorf("fault %s: %d %s, want 202", actor, code, raw)
			}
			if a := s.ask(t, question(trimSpace, nil)); a.Flashlane.Tokens != first.Flashlane.Tokens {
				t.Errorf("after killing the %s the bytes differ", actor)
			}
		}
		if code, _ := s.do(t, "POST", "/debug/fault", object{"actor": "nobody"}); code != 404 {
			t.Errorf("fault of an unknown actor: got %d, want 404", code)
		}
		_, raw := s.do(t, "GET", "/v1/actors", nil)
		var tree struct {
			Actors []struct {
				Kind     string
				Restarts int
			}
		}
		if err := json.Unmarshal(raw, &tree); err != nil {
			t.Fatal(err)
		}
		restarts := map[string]int{}
		for _, a := range tree.Actors {
			restarts[a.Kind] += a.Restarts
		}
		for _, actor := range []string{"drafter", "stager", "verifier", "indexer"} {
			if restarts[actor] != 1 {
				t.Errorf("%s: %d restarts, want 1", actor, restarts[actor])
			}
		}
	})
	t.Run("idle", func(t *testing.T) {
		_, raw := s.do(t, "GET", "/health", nil)
		var h struct{ Active, Queued int }
		if err := json.Unmarshal(raw, &h); err != nil || h.Active != 0 || h.Queued != 0 {
			t.Errorf("health at the end: %v, %+v, want nothing active or queued", err, h)
		}
	})
}

// TestSIGTERMDrains: what runs ends, the status is 0.
func TestSIGTERMDrains(t *testing.T) {
	s := startServe(t)
	raw, err := json.Marshal(question(trimSpace, object{"stream": true}))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.url+"/v1/chat/completions", "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil { // it runs
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "data: [DONE]") {
		t.Errorf("the running stream: %v, ended with %q, want [DONE]", err, rest[max(0, len(rest)-200):])
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit: %v, want status 0\n%s", err, strings.Join(s.lines(), "\n"))
	}
}

// TestSIGTERMAfterGivingUp: a house that was given up fails the process, and its log says why, even if a signal ends it first.
func TestSIGTERMAfterGivingUp(t *testing.T) {
	s := startServe(t, "--debug-faults")
	quick := http.Client{Timeout: 200 * time.Millisecond} // an actor that is gone answers nothing
	send := func(method, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if resp, err := quick.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	for tries := 0; tries < 200 && !strings.Contains(strings.Join(s.lines(), "\n"), "is given up"); tries++ {
		send("POST", "/debug/fault", `{"actor": "lanes"}`)
		send("PUT", "/v1/lanes/ple_cached_aux", `{"enabled": true}`)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.said // waiting for the process would cut its last lines off
	_ = s.cmd.Wait()
	log := strings.Join(s.lines(), "\n")
	if code := s.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit: got status %d, want 1\n%s", code, log)
	}
	for _, want := range []string{`{"level":"error","error":"actor flashlane/lanes failed`, "the house was given up: actor flashlane/lanes failed"} {
		if !strings.Contains(log, want) {
			t.Errorf("standard error lacks %q:\n%s", want, log)
		}
	}
}

// TestRefusals: what cannot be served is refused before anything is, with words that help.
func TestRefusals(t *testing.T) {
	empty := t.TempDir()
	cases := []struct {
		args []string
		want []string
	}{
		{[]string{"serve", "--disable-optimization", "bogus"}, []string{"bogus", "ple_cached_aux", "qsa_pooled_rowsel"}},
		{[]string{"serve", "--listen", "0.0.0.0:0"}, []string{"--api-key-file"}},
		{[]string{"serve", "--device", "abacus"}, []string{"abacus", "cpu"}},
		{[]string{"serve", "--depth", "8"}, []string{"--depth", "0 to 7"}},
		{[]string{"serve", "--acceptance", "hope"}, []string{"hope", "coupled"}},
		{[]string{"serve", "--context", "5000"}, []string{"5000", "4096"}},
		{[]string{"serve", "--ple-mode", "x"}, []string{"async-raw"}},
		{[]string{"serve", "--memory-limit", "lots"}, []string{"lots", "GiB"}},
		{[]string{"serve", "--memory-limit", "10MiB"}, []string{"memory"}},
		{[]string{"serve", "--log-level", "loud"}, []string{"loud"}},
		{[]string{"serve", "--model", filepath.Join(empty, "nowhere")}, []string{"nowhere"}},
		{[]string{"serve", "--model", empty}, []string{"config.json"}},
		{[]string{"logits", "--ids", "1,x"}, []string{`"x"`}},
		{[]string{"logits", "--ids", "99999"}, []string{"99999"}},
		{[]string{"pack", "inspect", empty}, []string{"config.json"}},
		{[]string{"replay", filepath.Join(empty, "r.json")}, []string{"r.json"}},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			_, stderr, code := runProgram(t, c.args...)
			if code == 0 {
				t.Fatal("exit status 0, want a refusal")
			}
			for _, w := range c.want {
				if !strings.Contains(stderr, w) {
					t.Errorf("standard error lacks %q:\n%s", w, stderr)
				}
			}
		})
	}
}

// TestSignedSeed: --seed=-1 is the seed that -1 is in a request.
func TestSignedSeed(t *testing.T) {
	stdout, stderr, code := runProgram(t, "generate", "--json", "--seed=-1", "--max-tokens", "2", trimSpace)
	var a struct {
		Flashlane struct {
			Seed  uint64
			Given bool `json:"seed_given"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &a); err != nil || a.Flashlane.Seed != math.MaxUint64 || !a.Flashlane.Given {
		t.Errorf("exit %d, %s: got %+v, %v, want seed %d", code, stderr, a, err, uint64(math.MaxUint64))
	}
	for _, bad := range []string{"1.5", "18446744073709551616", "-9223372036854775809", ""} {
		var s seed
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as seed %d", bad, s)
		}
	}
}

// TestGenerateAndReplay: a saved answer runs again to the same bytes under other settings; a forged one is found out.
func TestGenerateAndReplay(t *testing.T) {
	stdout, stderr, code := runProgram(t, "generate", "--json", "--temperature", "1", trimSpace)
	if code != 0 {
		t.Fatalf("generate: status %d\n%s", code, stderr)
	}
	file := filepath.Join(t.TempDir(), "response.json")
	if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := runProgram(t, "replay", "--disable-optimization", "all", "--threads", "1", "--prefill-chunk", "5", file)
	if code != 0 || strings.Count(out, " same") != 3 {
		t.Errorf("replay: status %d, output %q\n%s", code, out, stderr)
	}
	var a answer
	if err := json.Unmarshal([]byte(stdout), &a); err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(stdout, a.Flashlane.Tokens, strings.Repeat("0", 64), 1)
	if err := os.WriteFile(file, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runProgram(t, "replay", file); code == 0 || !strings.Contains(stderr, "tokens: got") {
		t.Errorf("replay of a forged answer: status %d\n%s", code, stderr)
	}
}

// TestLogitsOfABarePack: any pack, without a tokenizer, whatever the chunk.
func TestLogitsOfABarePack(t *testing.T) {
	dir := t.TempDir()
	if err := packtest.Write(dir, packtest.Odd(), 3, packtest.Options{}); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, chunk := range []int{1, 3, 64} {
		out := filepath.Join(t.TempDir(), "logits.json")
		_, stderr, code := runProgram(t, "logits", "--model", dir, "--ids", "5,6,300,7,8,9,10,11,12,13", "--all", "--layers", "--prefill-chunk", fmt.Sprint(chunk), "--out", out)
		if code != 0 {
			t.Fatalf("status %d\n%s", code, stderr)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Device    string `json:"device_kind"`
			Precision string

			IDs    []int32
			Logits [][]float32
			Hidden map[string][][]float32
			Blocks map[string]map[string][]int32 `json:"selected_blocks"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if r.Device != "cpu/f32" || r.Precision != "exact" {
			t.Errorf("got device kind %q, precision %q, want cpu/f32 and exact", r.Device, r.Precision)
		}
		if len(r.Logits) != 10 || len(r.Logits[0]) != 311 || len(r.Hidden["embed"]) != 10 || len(r.Hidden["embed"][0]) != 72 ||
			len(r.Hidden["layer6"][9]) != 144 || len(r.Hidden["final"]) != 10 || len(r.Blocks["1"]["9"]) != 3 {
			t.Fatalf("shapes: %d logits, hidden %v, blocks %v", len(r.Logits), len(r.Hidden), r.Blocks)
		}
		if first == "" {
			first = string(raw)
		}
		if string(raw) != first {
			t.Errorf("chunk %d changes the output", chunk)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// memoryLimit of the server under test: little enough that requests wait, are refused and drive snapshots out.
const memoryLimit = 176 << 20

// status reads a figure of the server's process from the system, in bytes.
func (s *served) status(t *testing.T, field string) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("/proc/PID/status has no %s", field)
	return 0
}

// books reads the server's own figures.
func (s *served) books(t *testing.T) (m struct{ Weights, Sequences, Snapshots, Buffers, Program, Limit, Resident int64 }) {
	t.Helper()
	_, raw := s.do(t, "GET", "/health", nil)
	health := struct{ Memory any }{&m}
	if err := json.Unmarshal(raw, &health); err != nil {
		t.Fatal(err)
	}
	return m
}

// agree compares the books with the system's figure: within a tenth of it.
func (s *served) agree(t *testing.T, when string) {
	t.Helper()
	m, os := s.books(t), s.status(t, "VmRSS")
	sum := m.Weights + m.Snapshots + m.Buffers + m.Program
	for what, got := range map[string]int64{"weights, buffers, snapshots and program": sum, "resident": m.Resident} {
		if diff := got - os; diff > os/10 || diff < -os/10 {
			t.Errorf("%s: %s: got %d bytes, the system says %d: want them within a tenth (%+v)", when, what, got, os, m)
		}
	}
	_, raw := s.do(t, "GET", "/metrics", nil)
	metric := int64(0)
	for _, name := range []string{"flashlane_device_loaded_bytes", "flashlane_device_sequences_bytes", "flashlane_prefix_bytes", "flashlane_memory_program_bytes"} {
		_, rest, ok := strings.Cut(string(raw), "\n"+name+" ")
		if !ok {
			t.Fatalf("/metrics has no %s", name)
		}
		f, err := strconv.ParseFloat(rest[:strings.IndexByte(rest, '\n')], 64)
		if err != nil {
			t.Fatal(err)
		}
		metric += int64(f)
	}
	if os = s.status(t, "VmRSS"); metric-os > os/10 || metric-os < -os/10 {
		t.Errorf("%s: /metrics: got %d bytes, the system says %d: want them within a tenth", when, metric, os)
	}
}

// TestMemoryLimit: whatever clients send, the process never passes its limit, as the system counts it; its own figures
// agree with the system's before, between and after; what can never fit is a 507; and everyone else is served.
func TestMemoryLimit(t *testing.T) {
	s := startServe(t, "--memory-limit", fmt.Sprint(memoryLimit), "--max-active", "6")
	if m := s.books(t); m.Limit != memoryLimit {
		t.Fatalf("limit: got %d, want %d", m.Limit, memoryLimit)
	}
	s.agree(t, "before the first request")
	stays := question(trimSpace, object{"seed": 7, "temperature": 1, "max_tokens": 100})
	want := s.ask(t, stays)

	// Text of many tokens, and bodies far larger than any prompt may be.
	huge, err := json.Marshal(object{"prompt": strings.Repeat("so ", 10<<20), "max_tokens": 1})
	if err != nil {
		t.Fatal(err)
	}
	const seed, clients, visits = 20261129, 6, 6
	var tally [600]atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		rng := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for range visits {
				body := object{"prompt": strings.Repeat(fmt.Sprintf("func f%d() ", rng.IntN(1000)), 1+rng.IntN(100)), "max_tokens": 1 + rng.IntN(30), "temperature": 1}
				switch rng.IntN(8) {
				case 0:
					body["max_tokens"] = 2000 // with logprobs, more than there is
					body["n"], body["logprobs"] = 1, 5
				case 1:
					r, err := http.Post(s.url+"/v1/completions", "application/json", bytes.NewReader(huge))
					if err == nil { // the server may hang up while we still write
						tally[r.StatusCode].Add(1)
						_ = r.Body.Close()
					}
					continue
				}
				code, _ := s.do(t, "POST", "/v1/completions", body)
				tally[code].Add(1)
			}
		})
	}
	for range 6 {
		time.Sleep(100 * time.Millisecond) // looks in between; nothing depends on when
		if rss := s.status(t, "VmRSS"); rss > memoryLimit {
			t.Errorf("resident: got %d, want at most the limit of %d", rss, memoryLimit)
		}
	}
	wg.Wait()
	whole := question(trimSpace, nil)
	whole["max_tokens"], whole["n"] = 4000, 1
	whole["logprobs"], whole["top_logprobs"] = true, 20
	if code, raw := s.do(t, "POST", "/v1/chat/completions", whole); code != http.StatusInsufficientStorage || !bytes.Contains(raw, []byte("may need")) {
		t.Errorf("an answer that could never fit: got %d %.300s, want 507 with the numbers", code, raw)
	}
	if got := s.ask(t, stays); got.Flashlane.Tokens != want.Flashlane.Tokens {
		t.Errorf("after the rush: tokens %s, want %s", got.Flashlane.Tokens, want.Flashlane.Tokens)
	}
	s.agree(t, "after the rush")
	if peak := s.status(t, "VmHWM"); peak > memoryLimit {
		t.Errorf("peak: got %d bytes resident, want at most the limit of %d", peak, memoryLimit)
	} else {
		t.Logf("peak %d MiB of %d", peak>>20, memoryLimit>>20)
	}
	for code := range tally {
		if n := tally[code].Load(); n > 0 {
			t.Logf("status %d: %d", code, n)
		}
		switch code {
		case 200, 400, 413, 503, 507:
		default:
			if tally[code].Load() > 0 {
				t.Errorf("got %d answers with status %d", tally[code].Load(), code)
			}
		}
	}
	if tally[200].Load() < clients*visits/2 {
		t.Errorf("got %d answers, want most of %d", tally[200].Load(), clients*visits)
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/bench/client"
)

// benchJSON runs a bench command and reads the JSON it writes.
func benchJSON(t *testing.T, into any, args ...string) (stdout string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "run")
	stdout, stderr, code := runProgram(t, append(append([]string{"bench"}, args...), "--out", base)...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, stderr)
	}
	raw, err := os.ReadFile(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, raw)
	}
	text, err := os.ReadFile(base + ".md")
	if err != nil || string(text) != stdout {
		t.Errorf("%v: the Markdown file is not what was printed (%v)", args, err)
	}
	return stdout
}

// Short real runs on the embedded pack.
func TestBenchLoad(t *testing.T) {
	var got struct {
		Seed    uint64
		Results []struct {
			Name     string
			Requests int
			Finished int
			Tokens   int `json:"completion_tokens"`
			Finish   map[string]int
			Rate     float64         `json:"completion_tok_s"`
			TTFT     struct{ N int } `json:"ttft_ms"`
		}
	}
	benchJSON(t, &got, "load", "--clients", "1,3", "--rate", "50", "--requests", "4", "--prompt", "uniform:30-60", "--output", "8", "--run-on", "--seed", "7")
	if got.Seed != 7 || len(got.Results) != 3 {
		t.Fatalf("got %+v, want three loads with seed 7", got)
	}
	for _, r := range got.Results {
		if r.Finished != 4 || r.Tokens != 32 || r.Finish["length"] != 4 || r.Rate <= 0 || r.TTFT.N != 4 {
			t.Errorf("got %+v, want 4 answers of exactly 8 tokens", r)
		}
	}
	if _, stderr, code := runProgram(t, "bench", "load", "--prompt", "4090", "--output", "8"); code == 0 || !strings.Contains(stderr, "4098") || !strings.Contains(stderr, "4096") {
		t.Errorf("longer than the context: exit %d, %s", code, stderr)
	}
}

func TestBenchABBA(t *testing.T) {
	var got struct {
		Order   []string
		Digests string
		Windows []struct {
			Arm    string
			Prompt int                              `json:"prompt_tokens"`
			SHA    string                           `json:"tokens_sha256"`
			Work   map[string]struct{ Windows int } `json:"lane_work"`
		}
	}
	benchJSON(t, &got, "abba", "--prompt", "600", "--output", "12", "--seeds", "20260829", "--quiet", "0")
	if strings.Join(got.Order, " ") != "control a b b a control" || len(got.Windows) != 6 || got.Digests != "equal" {
		t.Fatalf("got %+v", got)
	}
	for _, w := range got.Windows {
		ple, qsa := w.Work["ple_cached_aux"].Windows, w.Work["qsa_pooled_rowsel"].Windows
		if w.Prompt != 600 || w.SHA != got.Windows[0].SHA || (ple > 0) != (w.Arm != "control") || (qsa > 0) != (w.Arm == "b") {
			t.Errorf("window %+v: ple worked %d, qsa %d times", w, ple, qsa)
		}
	}
	if _, stderr, code := runProgram(t, "bench", "abba"); code == 0 || !strings.Contains(stderr, "17408") {
		t.Errorf("the default lengths do not fit nano, but: exit %d, %s", code, stderr)
	}
	if _, stderr, code := runProgram(t, "bench", "abba", "--prompt", "40", "--output", "8", "--lanes", "no_such_lane"); code == 0 || !strings.Contains(stderr, "no_such_lane") {
		t.Errorf("unknown lane: exit %d, %s", code, stderr)
	}
}

func TestBenchModesAndPairs(t *testing.T) {
	var got struct {
		Order   []string
		Digests string
	}
	benchJSON(t, &got, "abba", "--ple-modes", "--prompt", "60", "--output", "8", "--seeds", "1", "--warm", "0", "--quiet", "0")
	if strings.Join(got.Order, " ") != "stock sync async-raw cached cached async-raw sync stock" || got.Digests != "equal" {
		t.Errorf("modes: got %+v", got)
	}
	benchJSON(t, &got, "pair", "depth=0,ple_cached_aux=off", "depth=3,ple_cached_aux=on", "--prompt", "60", "--output", "8", "--seeds", "1", "--quiet", "0")
	if strings.Join(got.Order, " ") != "A B B A" {
		t.Errorf("pair: got order %q", got.Order)
	}
	benchJSON(t, &got, "pair", "prefill-chunk=16", "threads=1", "--prompt", "60", "--output", "8", "--seeds", "1", "--warm", "0", "--quiet", "0")
	if _, stderr, code := runProgram(t, "bench", "pair", "depth=0", "ple_cached_aux=on"); code == 0 || !strings.Contains(stderr, "same lanes") {
		t.Errorf("a lane that only one names: exit %d, %s", code, stderr)
	}
	// Another temperature gives another text, which fails the command unless it may.
	hot := []string{"bench", "pair", "temperature=0", "temperature=2", "--prompt", "60", "--output", "24", "--seeds", "1", "--quiet", "0", "--top-p", "1", "--top-k", "1000"}
	if stdout, stderr, code := runProgram(t, hot...); code == 0 || !strings.Contains(stderr, "digests") || !strings.Contains(stdout, "Not equal") {
		t.Errorf("other digests: exit %d, %s", code, stderr)
	}
	if _, stderr, code := runProgram(t, append(hot, "--differ")...); code != 0 {
		t.Errorf("--differ: exit %d, %s", code, stderr)
	}
}

func TestPairSettings(t *testing.T) {
	c := benchPair{}
	c.Threads, c.Chunk, c.Depth, c.Prefix = 2, 128, 1, "0"
	c.LogLevel, c.LogFormat, c.PLEMode, c.Acceptance, c.Device, c.Precision, c.Place, c.MaxActive = "info", "json", "cached", "coupled", "auto", "exact", "auto", 8
	a, err := c.arm("depth=2,top-k=5,qsa_pooled_rowsel=off")
	if err != nil || a.Enter != nil || a.Lanes["qsa_pooled_rowsel"] || len(a.Lanes) != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	q := client.Ask{TopK: 20}
	if a.Tune(&q); *q.Depth != 2 || q.TopK != 5 {
		t.Errorf("got %+v", q)
	}
	if a, err := c.arm("prefill-chunk=64"); err != nil || a.Enter == nil {
		t.Errorf("a flag of serve: got %+v, %v", a, err)
	}
	for _, bad := range []string{"", "depth", "depth=x", "no-such-flag=1", "ple_cached_aux=maybe", "=3", "url=http://10.0.0.1:1,prefill-chunk=3"} {
		if a, err := c.arm(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, a)
		}
	}
	f := c.houseFlags
	if err := f.parse([]string{"--prefill-chunk=64", "--ple-mode=sync"}); err != nil || f.Chunk != 64 || f.PLEMode != "sync" || f.Threads != 2 || f.Depth != 1 || f.Prefix != "0" {
		t.Errorf("got %+v, %v, want what was named and all else as it was", f, err)
	}
}

func TestBenchDecode(t *testing.T) {
	var got struct {
		Decode float64 `json:"decode_tok_s"`
		Roofs  struct {
			Triad float64 `json:"triad_gb_s"`
			Peak  float64 `json:"peak_gflop_s"`
		}
		Phases []struct{ Name string }
	}
	text := benchJSON(t, &got, "decode", "--prompt", "80", "--output", "12", "--repeat", "1")
	if got.Decode <= 0 || got.Roofs.Triad <= 0 || got.Roofs.Peak <= 0 || len(got.Phases) != 5 || !strings.Contains(text, "prompt of 80 tokens") {
		t.Errorf("got %+v\n%s", got, text)
	}
}

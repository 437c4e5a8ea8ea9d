package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

const nanoFolder = "../../nano/pack"

// TestPlacement: every placement of a folder's table gives the same answer, and health, metrics and the start line tell it.
func TestPlacement(t *testing.T) {
	var first string
	for _, c := range []struct{ asked, got string }{{"memory", "memory"}, {"mmap", "mmap"}, {"file", "file"}, {"auto", "memory"}} {
		s := startServe(t, "--model", nanoFolder, "--ngram-placement", c.asked)
		a := s.ask(t, question("What is a slice?", object{"max_tokens": 12, "temperature": 0}))
		if first == "" {
			first = a.Flashlane.Tokens
		}
		if a.Flashlane.Tokens != first || first == "" {
			t.Errorf("%s: tokens %q, want %q", c.asked, a.Flashlane.Tokens, first)
		}
		var h struct {
			Rows struct {
				Placement           string
				Rows, Bytes, Direct int64
				Hits, Misses        int64
				Read                int64 `json:"read_bytes"`
			} `json:"ngram"`
		}
		_, raw := s.do(t, "GET", "/health", nil)
		if err := json.Unmarshal(raw, &h); err != nil {
			t.Fatal(err)
		}
		if r := h.Rows; r.Placement != c.got || r.Rows < 1000 || r.Bytes < r.Rows || r.Misses+r.Direct == 0 || r.Read == 0 {
			t.Errorf("%s: health says %+v", c.asked, r)
		}
		_, raw = s.do(t, "GET", "/metrics", nil)
		for _, want := range []string{`flashlane_rows_placement{placement="` + c.got + `"} 1`, `flashlane_lane_wait_seconds_total{lane="ple_cached_aux"}`,
			"flashlane_rows_read_seconds_total", "flashlane_row_cache_misses_total", "flashlane_rows_cold_reads_total"} {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s: the metrics lack %s", c.asked, want)
			}
		}
		if log := strings.Join(s.lines(), "\n"); !strings.Contains(log, `"placement":"`+c.got+`"`) || !strings.Contains(log, "n-gram rows") {
			t.Errorf("%s: the log lacks the placement:\n%s", c.asked, log)
		}
	}
}

func TestPlacementRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"mmap of the embedded pack": {[]string{"--ngram-placement", "mmap"}, []string{"embedded pack", "auto or memory"}},
		"file of the embedded pack": {[]string{"--ngram-placement", "file"}, []string{"embedded pack", "auto or memory"}},
		"an unknown place":          {[]string{"--ngram-placement", "disk"}, []string{"--ngram-placement", "memory, mmap, file"}},
	} {
		_, stderr, code := runProgram(t, append([]string{"generate", "hello"}, c.args...)...)
		if code == 0 {
			t.Errorf("%s: it ran", name)
		}
		for _, want := range c.says {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: got %q, want one that says %q", name, stderr, want)
			}
		}
	}
}

// TestPlacementWithoutATable: a pack without n-gram rows has no place for them.
func TestPlacementWithoutATable(t *testing.T) {
	g, dir := packtest.Tiny(), t.TempDir()
	g.PLELayerIDs = nil
	if err := packtest.Write(dir, g, 82, packtest.Options{Layout: pack.MLX, Bits: 8}); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := runProgram(t, "logits", "--model", dir, "--ids", "1,2", "--ngram-placement", "file")
	if code == 0 || !strings.Contains(stderr, "--ngram-placement: got file") || !strings.Contains(stderr, "no n-gram table") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := runProgram(t, "logits", "--model", dir, "--ids", "1,2"); code != 0 {
		t.Errorf("without the flag: exit %d: %s", code, stderr)
	}
}

// TestPlacementOfALargeTable serves a pack whose table (sparse, some 18 GB) is larger than the memory limit: in place it
// counts for nothing, and into memory it is refused by numbers.
func TestPlacementOfALargeTable(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(nanoFolder, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	base := regexp.MustCompile(`"ngram_vocab_size_base": \d+`)
	if !base.Match(config) {
		t.Fatal("config.json names no ngram_vocab_size_base")
	}
	geometry, dir := filepath.Join(t.TempDir(), "config.json"), filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(geometry, base.ReplaceAll(config, []byte(`"ngram_vocab_size_base": 20000000`)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runProgram(t, "pack", "synth", "--geometry", geometry, "--layers", "4", "--sparse-table", dir); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var first string
	for _, place := range []string{"auto", "file"} {
		s := startServe(t, "--model", dir, "--memory-limit", "1GiB", "--ngram-placement", place)
		a := s.ask(t, question("What is a slice?", object{"max_tokens": 8, "temperature": 0}))
		if first == "" {
			first = a.Flashlane.Tokens
		}
		if a.Flashlane.Tokens != first || first == "" {
			t.Errorf("%s: tokens %q, want %q", place, a.Flashlane.Tokens, first)
		}
		want := place
		if place == "auto" {
			want = "mmap"
		}
		if log := strings.Join(s.lines(), "\n"); !strings.Contains(log, `"placement":"`+want+`"`) {
			t.Errorf("%s: the log lacks %s:\n%s", place, want, log)
		}
	}
	_, stderr, code := runProgram(t, "generate", "hello", "--model", dir, "--memory-limit", "1GiB", "--ngram-placement", "memory")
	if code == 0 || !strings.Contains(stderr, "1073741824") || !strings.Contains(stderr, "bytes of rows into memory") || !strings.Contains(stderr, "--ngram-placement file or mmap") {
		t.Errorf("into memory: exit %d, %q, want a refusal with the limit and what else to do", code, stderr)
	}
}

// TestMemoryRefusalsNameThePlacement: where the memory limit is too small, at whatever step, the refusal names what keeps the table out
// of memory, unless it is out already.
func TestMemoryRefusalsNameThePlacement(t *testing.T) {
	const way, cache = "--ngram-placement file, which keeps the n-gram table (9 MiB) out of the process", "--ngram-cache off"
	for _, c := range []struct {
		limit string
		args  []string
		says  []string
		not   string
	}{
		{"40MiB", []string{"--model", nanoFolder}, []string{"--memory-limit: got 40MiB", way, cache}, "--model"},  // while it loads
		{"80MiB", []string{"--model", nanoFolder}, []string{"--memory-limit: got 80 MiB", way, cache}, "--model"}, // when all is weighed
		{"80MiB", []string{"--model", nanoFolder, "--ngram-placement", "file", "--ngram-cache", "off"}, []string{"--memory-limit: got 80 MiB"}, "what needs less"},
		{"80MiB", nil, []string{"--memory-limit: got 80 MiB", cache}, "--ngram-placement"}, // the embedded pack has no file
	} {
		_, stderr, code := runProgram(t, append([]string{"generate", "hello", "--memory-limit", c.limit}, c.args...)...)
		if code == 0 || strings.Contains(stderr, c.not) || slices.ContainsFunc(c.says, func(part string) bool { return !strings.Contains(stderr, part) }) {
			t.Errorf("%s %v: exit %d, %q, want one that says %q and not %q", c.limit, c.args, code, stderr, c.says, c.not)
		}
	}
}

// TestBenchCold measures a small run whose rows come from disk.
func TestBenchCold(t *testing.T) {
	if runtime.GOOS != "linux" {
		for _, args := range [][]string{{"--cold", "--model", nanoFolder, "--ngram-placement", "file"}} {
			if _, stderr, code := runProgram(t, append([]string{"bench", "abba"}, args...)...); code == 0 || !strings.Contains(stderr, "--cold") {
				t.Errorf("exit %d: %s", code, stderr)
			}
		}
		return
	}
	dir := t.TempDir() // of its own: dropping pages of the checkout would slow others down
	entries, err := os.ReadDir(nanoFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(nanoFolder, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), raw, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "ngram-table.safetensors"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil { // dirty pages are not dropped
		t.Fatal(err)
	}
	f.Close()
	for _, more := range [][]string{{"--ngram-placement", "mmap"}, {"--read-delay", "20us"}} {
		var got struct {
			Cold    bool
			Digests string
			Windows []struct {
				Cold int64   `json:"cold_row_reads"`
				Read float64 `json:"row_read_ms"`
			}
		}
		out := benchJSON(t, &got, append([]string{"abba", "--model", dir, "--ngram-cache", "off", "--cold", "--seeds", "1", "--prompt", "60", "--output", "12", "--run-on", "--warm", "0", "--quiet", "0"}, more...)...)
		if !got.Cold || got.Digests != "equal" || len(got.Windows) != 6 || !strings.Contains(out, "cold") {
			t.Errorf("%v: got %+v", more, got)
		}
		for i, w := range got.Windows {
			if w.Cold == 0 || w.Read <= 0 {
				t.Errorf("%v: window %d: got %+v, want rows from disk", more, i, w)
			}
		}
	}
	for _, args := range [][]string{{"--cold", "--url", "http://127.0.0.1:1"}, {"--read-delay", "1ms"}, {"--cold", "--read-delay", "1ms", "--ngram-placement", "mmap", "--model", dir},
		{"--cold", "--ple-modes"}, {"--cold"}} {
		if _, stderr, code := runProgram(t, append([]string{"bench", "abba", "--seeds", "1", "--prompt", "60", "--output", "12"}, args...)...); code == 0 || !strings.Contains(stderr, "--cold") && !strings.Contains(stderr, "--read-delay") {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

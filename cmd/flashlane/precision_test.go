package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrecision: each precision is named in its answers and has bytes of its own; what one has kept on disk the other does not use, and
// a replay is of the answer's precision or refused.
func TestPrecision(t *testing.T) {
	dir := t.TempDir()
	ask := func(args ...string) (file string, a precise) {
		t.Helper()
		all := append([]string{"generate", "--json", "--temperature", "1", "--max-tokens", "24", "--cache-dir", filepath.Join(dir, "cache"), trimSpace}, args...)
		out, stderr, code := runProgram(t, all...)
		if code != 0 {
			t.Fatalf("%q: status %d\n%s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(out), &a); err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(dir, a.Flashlane.Precision+".json")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		return file, a
	}
	exact, e := ask("--seed", "5")
	fast, f := ask("--seed", "5", "--precision", "fast")
	if e.Flashlane.Precision != "exact" || e.Flashlane.Kind != "cpu/f32" || f.Flashlane.Precision != "fast" || f.Flashlane.Kind != "cpu/i8" {
		t.Errorf("got %+v and %+v, want exact on cpu/f32 and fast on cpu/i8", e.Flashlane, f.Flashlane)
	}
	if e.System+"_fast" != f.System || !strings.HasPrefix(e.System, "fp_") {
		t.Errorf("system_fingerprint: got %q and %q, want the second to say fast", e.System, f.System)
	}
	if n := f.Usage.Details.Cached; n != 0 {
		t.Errorf("fast took %d positions that exact had kept on disk", n)
	}
	if _, again := ask("--seed", "5", "--precision", "fast"); again.Usage.Details.Cached == 0 || again.Flashlane.Tokens != f.Flashlane.Tokens {
		t.Errorf("fast again: got %+v, want positions from the disk and tokens %s", again, f.Flashlane.Tokens)
	}
	for _, c := range []struct {
		file      string
		precision []string
		want      string // in standard error; "": it runs
	}{
		{fast, []string{"--precision", "fast", "--threads", "1"}, ""},
		{fast, nil, "give --precision fast"},
		{exact, []string{"--precision", "exact"}, ""},
		{exact, []string{"--precision", "fast"}, "give --precision exact"},
		{exact, []string{"--precision", "half"}, `--precision: cpu: precision: got "half"`},
	} {
		out, stderr, code := runProgram(t, append([]string{"replay", c.file}, c.precision...)...)
		if (code == 0) != (c.want == "") || !strings.Contains(stderr, c.want) || c.want == "" && strings.Count(out, " same") != 3 {
			t.Errorf("replay %s %q: status %d, output %q, standard error %q, want %q", filepath.Base(c.file), c.precision, code, out, stderr, c.want)
		}
	}
}

// precise is what an answer says that a precision can change.
type precise struct {
	System    string `json:"system_fingerprint"`
	Flashlane struct {
		Precision string `json:"precision"`
		Kind      string `json:"device_kind"`
		Tokens    string `json:"tokens_sha256"`
	} `json:"flashlane"`
	Usage struct {
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// TestPrecisionOfServe: /health tells the precision that serve runs in.
func TestPrecisionOfServe(t *testing.T) {
	for precision, kind := range map[string]string{"exact": "cpu/f32", "fast": "cpu/i8"} {
		s := startServe(t, "--precision", precision)
		_, raw := s.do(t, "GET", "/health", nil)
		var h struct {
			Precision string `json:"precision"`
			Kind      string `json:"device_kind"`
		}
		if err := json.Unmarshal(raw, &h); err != nil || h.Precision != precision || h.Kind != kind {
			t.Errorf("--precision %s: got %+v, %v, want kind %s", precision, h, err, kind)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// nanoConfig is the embedded pack's geometry.
var nanoConfig = filepath.Join("..", "..", "nano", "pack", "config.json")

// A random pack is whole, serves, and answers the same twice.
func TestPackSynth(t *testing.T) {
	out := filepath.Join(t.TempDir(), "random")
	said, errs, code := runProgram(t, "pack", "synth", "--geometry", nanoConfig, "--layers", "5", "--rows", "5000", out)
	if code != 0 {
		t.Fatalf("synth: exit %d: %s", code, errs)
	}
	for _, want := range []string{"at most 5000 rows: ngram_vocab_size_base ", "tokenizer, template and settings of nano", "5 layers, recipe optimized-speed", "written\t" + out} {
		if !strings.Contains(said, want) {
			t.Errorf("synth said %q, want it to say %q", said, want)
		}
	}
	if said, errs, code = runProgram(t, "pack", "inspect", out); code != 0 || !strings.Contains(said, "the pack is whole") || !strings.Contains(said, "MTP head          yes") {
		t.Errorf("inspect: exit %d: %s%s", code, said, errs)
	}
	s := startServe(t, "--model", out)
	ask := question(trimSpace, object{"max_tokens": 12})
	a, b := s.ask(t, ask), s.ask(t, ask)
	if text := a.Choices[0].Message.Content + a.Choices[0].Message.Reasoning; text == "" {
		t.Error("answer: got no text")
	}
	if a.Flashlane.Tokens != b.Flashlane.Tokens {
		t.Errorf("tokens: got %s and %s for one question", a.Flashlane.Tokens, b.Flashlane.Tokens)
	}
}

func TestPackSynthRefusals(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.Mkdir(there, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"folder exists", []string{"--geometry", nanoConfig, there}, "never written over"},
		{"no such geometry", []string{"--geometry", filepath.Join(dir, "none.json"), "x"}, "--geometry: want released or a config.json"},
		{"not a config", []string{"--geometry", "pack_test.go", "x"}, "bad JSON"},
		{"too few layers", []string{"--geometry", "released", "--layers", "2", "x"}, "--layers: synth: bad geometry: layers: got 2, want 4"},
		{"too few rows", []string{"--geometry", "released", "--rows", "5", "x"}, "--rows: synth: bad geometry: rows: got 5, want at least 384"},
		{"recipe", []string{"--geometry", nanoConfig, "--recipe", "q5", "x"}, `--recipe: recipe: got "q5", want one of optimized-speed, q8, q4, bf16`},
		{"no room", []string{"--geometry", "released", "--rows", "40000000000", filepath.Join(dir, "x")}, "but the disk has"},
	} {
		_, errs, code := runProgram(t, append([]string{"pack", "synth"}, c.args...)...)
		if code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: got exit %d, %q; want 1, %q", c.name, code, errs, c.want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: got %v %v, want nothing but the folder that was there", left, err)
	}
}

// A pack that was converted is whole, says so, and has a fault when a byte of it changes; it is never written over, and
// never converted to other codes.
func TestPackConvertAndVerify(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.Mkdir(source, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := packtest.Write(source, packtest.Tiny(), 1, packtest.Options{WithMTP: true, Transposed: true, Files: map[string]string{"LICENSE": "free", "README.md": "a card"}}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	said, errs, code := runProgram(t, "pack", "convert", source, out, "--recipe", "optimized-speed", "--shard-size", "50KB")
	if code != 0 || !strings.Contains(said, "written\t"+out) {
		t.Fatalf("convert: exit %d: %s%s", code, said, errs)
	}
	for file, want := range map[string]bool{"LICENSE": true, "README.md": false, "model.safetensors.index.json": true, "model.safetensors": false, "mtp.safetensors": true, "ngram-table.safetensors": true} {
		if _, err := os.Stat(filepath.Join(out, file)); (err == nil) != want {
			t.Errorf("%s: got %v, want it there: %t", file, err, want)
		}
	}
	said, errs, code = runProgram(t, "pack", "verify", out)
	if code != 0 || strings.Contains(said, "FAULT") || !strings.Contains(said, "against flashlane-manifest.json (pack convert, recipe optimized-speed, from source (hf, fingerprint ") {
		t.Errorf("verify: exit %d: %s%s", code, said, errs)
	}
	for _, args := range [][]string{{"pack", "convert", source, out, "--recipe", "q8"}, {"pack", "convert", out, out + "2", "--recipe", "q8"}} {
		if _, errs, code := runProgram(t, args...); code != 1 || !strings.Contains(errs, "never written over") && !strings.Contains(errs, "would not be exact") {
			t.Errorf("%v: got exit %d, %q; want a refusal", args, code, errs)
		}
	}
	file := filepath.Join(out, "mtp.safetensors")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	said, errs, code = runProgram(t, "pack", "verify", out)
	if code != 1 || !strings.Contains(said, `mtp.safetensors: tensor "mtp.`) || !strings.Contains(said, "got SHA-256") || !strings.Contains(errs, "1 faults") {
		t.Errorf("verify of a changed file: exit %d: %s%s", code, said, errs)
	}
}

// inspect names tensors that nothing uses, and does not call a pack whole whose head is named and missing.
func TestPackInspect(t *testing.T) {
	header := `{"stray.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`
	for _, c := range []struct {
		name   string
		o      packtest.Options
		remove string
		code   int
		want   string
	}{
		{"a stray tensor", packtest.Options{Files: map[string]string{"mtp.safetensors": string(rune(len(header))) + "\x00\x00\x00\x00\x00\x00\x00" + header}}, "",
			0, `mtp.safetensors: tensor "stray.weight" is no piece of the model`},
		{"a missing head", packtest.Options{Layout: pack.MLX, WithMTP: true}, "mtp.safetensors", 1, "config.json names mtp.safetensors for the MTP head, but there is no such file"},
	} {
		dir := t.TempDir()
		if err := packtest.Write(dir, packtest.Tiny(), 1, c.o); err != nil {
			t.Fatal(err)
		}
		if c.remove != "" {
			if err := os.Remove(filepath.Join(dir, c.remove)); err != nil {
				t.Fatal(err)
			}
		}
		said, errs, code := runProgram(t, "pack", "inspect", dir)
		if code != c.code || !strings.Contains(said+errs, c.want) || strings.Contains(said, "the pack is whole") != (code == 0) {
			t.Errorf("%s: exit %d: %s%s, want %d and %q", c.name, code, said, errs, c.code, c.want)
		}
	}
}

// A conversion that is killed leaves no folder of the name, and nothing that opens as a pack, unless it was done already;
// one that is interrupted leaves nothing at all.
func TestPackConvertEnds(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source")
	if _, errs, code := runProgram(t, "pack", "synth", "--geometry", nanoConfig, "--recipe", "bf16", source); code != 0 {
		t.Fatalf("synth: exit %d: %s", code, errs)
	}
	for _, end := range []os.Signal{os.Kill, os.Interrupt} {
		for seed := range 6 {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			cmd := program(t.Context(), "pack", "convert", source, out, "--recipe", "q4")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for begun := false; !begun; { // until it writes, or is done
				_, a := os.Stat(out + ".partial")
				_, b := os.Stat(out)
				begun = a == nil || b == nil
			}
			time.Sleep(time.Duration(seed) * 8 * time.Millisecond) // at some point of it; whichever, the rule holds
			_ = cmd.Process.Signal(end)                            // it may be over
			_ = cmd.Wait()
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				_, errs, code := runProgram(t, "pack", "verify", filepath.Join(dir, e.Name()))
				switch {
				case e.Name() == "out":
					if code != 0 {
						t.Errorf("%v: the folder has its name but is not whole: %s", end, errs)
					}
				case end == os.Interrupt:
					t.Errorf("%v: left %s behind", end, e.Name())
				case code == 0:
					// Killed between the last byte and the name: whole, but for that.
				case !strings.Contains(errs, "config.json: no such file"):
					t.Errorf("%v: %s: got %q, want no pack for the lack of config.json", end, e.Name(), errs)
				}
			}
		}
	}
}

// The perplexity of a pack is a figure of pack, text and window alone.
func TestBenchPerplexity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(strings.Repeat("// TrimSpace returns a slice of the string s.\nfunc TrimSpace(s string) string {\n", 10)), 0o666); err != nil {
		t.Fatal(err)
	}
	row := func(args ...string) string {
		said, errs, code := runProgram(t, append([]string{"bench", "perplexity", "--text", file, "--window", "64"}, args...)...)
		if code != 0 || strings.Count(said, "\n") != 3 {
			t.Fatalf("exit %d: %s%s", code, said, errs)
		}
		return said
	}
	a, b := row(), row("--threads", "1", "--prefill-chunk", "7", "--text", file)
	field := func(s string, i int) string {
		return strings.TrimSpace(strings.Split(strings.Split(s, "\n")[2], "|")[i])
	}
	if field(a, 4) != field(b, 4) {
		t.Errorf("nats per token: got %s, and %s for the text twice with other threads and chunks", field(a, 4), field(b, 4))
	}
	if n := field(a, 7); field(b, 7) == n || n == "0" {
		t.Errorf("tokens: got %s for one text and %s for two", n, field(b, 7))
	}
	if got := field(a, 9) + field(a, 10); got != "exact" {
		t.Errorf("precision and KL: got %q, want exact and none", got)
	}
	fast := row("--precision", "fast")
	kl, err := strconv.ParseFloat(field(fast, 10), 64)
	if field(fast, 9) != "fast" || err != nil || kl <= 0 || kl >= 0.05 || field(fast, 4) == field(a, 4) {
		t.Errorf("precision fast: got %s, want another loss and a small KL", fast)
	}
	_, errs, code := runProgram(t, "bench", "perplexity", "--text", file, "--precision", "int8")
	if code != 1 || !strings.Contains(errs, `--precision: cpu: precision: got "int8"`) {
		t.Errorf("precision int8: got exit %d, %q", code, errs)
	}
	if _, errs, code := runProgram(t, "bench", "perplexity", "--text", filepath.Dir(file)); code != 1 || !strings.Contains(errs, "--text") {
		t.Errorf("a folder as text: got exit %d, %q", code, errs)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

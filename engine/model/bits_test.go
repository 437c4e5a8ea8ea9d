package model_test

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
)

var update = flag.Bool("update", false, "write testdata/nano-q8/bits.txt anew")

// TestNanoBits compares a hash of the embedded pack's logits with the recorded one: a seed replays on any machine only if all have
// the same bits, in the device's ops (metal/cpu's TestBitsGolden) and in what the host computes for them.
func TestNanoBits(t *testing.T) {
	const file = "testdata/nano-q8/bits.txt"
	var prompts map[string]prompt
	modeltest.OpenGolden(t, "testdata/nano-q8").JSON("prompts.json", &prompts)
	m := modeltest.Load(t, modeltest.Nano(t), modeltest.CPU(t, 2))
	var got strings.Builder
	got.WriteString("# Hash of the logits of all positions, f32 little-endian, device kind cpu/f32.\n")
	got.WriteString("# Written by: go test ./engine/model -run TestNanoBits -update\n")
	for _, name := range []string{"single_token", "chat_think", "unicode"} {
		h := sha256.New()
		for _, row := range modeltest.NewRunner(t, m, 128).Feed(prompts[name].IDs, 128, model.LogitsAll) {
			if err := binary.Write(h, binary.LittleEndian, row); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&got, "%-12s %x\n", name, h.Sum(nil))
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s: got\n%swant\n%s(if a change of bits is meant, it needs a new device kind, and -update)", file, got.String(), want)
	}
}

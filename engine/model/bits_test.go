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
	"github.com/flashlane/flashlane/metal/cpu"
)

var update = flag.Bool("update", false, "write testdata/nano-q8/bits*.txt anew")

// TestNanoBits compares a hash of the embedded pack's logits with the recorded one: a seed replays on any machine only if all have
// the same bits, in the device's ops (metal/cpu's TestBitsGolden) and in what the host computes for them.
func TestNanoBits(t *testing.T) {
	for p, file := range map[cpu.Precision]string{cpu.Exact: "testdata/nano-q8/bits.txt", cpu.Fast: "testdata/nano-q8/bits-fast.txt"} {
		t.Run(p.String(), func(t *testing.T) { nanoBits(t, p, file) })
	}
}

func nanoBits(t *testing.T, p cpu.Precision, file string) {
	var prompts map[string]prompt
	modeltest.OpenGolden(t, "testdata/nano-q8").JSON("prompts.json", &prompts)
	dev := modeltest.CPUWith(t, cpu.Options{Threads: 2, Precision: p})
	m := modeltest.Load(t, modeltest.Nano(t), dev)
	var got strings.Builder
	fmt.Fprintf(&got, "# Hash of the logits of all positions, f32 little-endian, device kind %s.\n", dev.Info().Kind)
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

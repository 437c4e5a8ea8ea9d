package pack_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// TestLeave: bytes that left the process read as before, from a mapping and from memory that has no file behind it.
func TestLeave(t *testing.T) {
	const dir = "../../nano/pack"
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(raw)
	}
	mapped, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string]pack.Source{"mapped": mapped, "in memory": pack.Files("nano", files)} {
		t.Run(name, func(t *testing.T) {
			p, err := pack.Open(src)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			read := func() metal.WeightSpec {
				spec, err := p.Linear("lm_head.weight", p.Config.Vocab, p.Config.Hidden)
				if err != nil {
					t.Fatal(err)
				}
				return spec
			}
			spec := read()
			want := slices.Clone(spec.Parts[0].Data)
			p.Leave(spec)
			p.LeaveAll()
			if got := read().Parts[0].Data; !slices.Equal(got, want) {
				t.Error("the weight's bytes changed when their pages left")
			}
		})
	}
}

package packtest_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// Equal arguments make equal bytes, on disk and in memory; another seed makes others.
func TestDeterministic(t *testing.T) {
	o := packtest.Options{WithMTP: true, Layout: pack.MLX, Bits: 4, Files: map[string]string{"note.txt": "hello"}}
	a, err := packtest.Files(packtest.Tiny(), 1, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := packtest.Write(dir, packtest.Tiny(), 1, o); err != nil {
		t.Fatal(err)
	}
	disk := map[string]string{}
	for name := range a {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		disk[name] = string(b)
	}
	if !maps.Equal(a, disk) || a["note.txt"] != "hello" {
		t.Error("files on disk differ from those in memory")
	}
	other, err := packtest.Files(packtest.Tiny(), 2, o)
	if err != nil {
		t.Fatal(err)
	}
	if a["model.safetensors"] == other["model.safetensors"] || a["config.json"] != other["config.json"] {
		t.Error("want another seed to change the weights and nothing else")
	}
}

func TestRefusals(t *testing.T) {
	for name, o := range map[string]packtest.Options{
		"shards that do not divide": {TableShards: 7},
		"bits in hf":                {Bits: 8},
		"no group for the table":    {Layout: pack.MLX, TableBits: 4},
	} {
		g := packtest.Tiny()
		if o.TableBits > 0 {
			g.PLEDim = 32 // rows of 4
		}
		if _, err := packtest.Files(g, 1, o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// Weights have the scale the comments promise: a unit input gives an output near scale.
func TestScales(t *testing.T) {
	p := packtest.Open(t, packtest.Odd(), 1, packtest.Options{DType: pack.F32})
	w, err := p.Linear("layers.1.self_attn.q_proj", 288, 72)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	data := w.Parts[0].Data
	for i := 0; i < len(data); i += 4 {
		v := math.Float32frombits(uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24)
		sum += float64(v) * float64(v)
	}
	if got, want := math.Sqrt(sum/float64(w.Rows)), 2.0; math.Abs(got-want) > 0.05 {
		t.Errorf("root mean square of a row: got %g, want %g", got, want)
	}
}

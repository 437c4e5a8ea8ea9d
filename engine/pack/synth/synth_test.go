package synth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/quantise"
	"github.com/flashlane/flashlane/engine/pack/synth"
	"github.com/flashlane/flashlane/metal/cpu"
)

// made writes a random pack and opens it.
func made(t *testing.T, g synth.Geometry, seed uint64, recipe string, o mlx.Options) (*pack.Pack, string) {
	t.Helper()
	var err error
	if o.Recipe, err = quantise.ByName(recipe); err != nil {
		t.Fatal(err)
	}
	source, err := g.JSON()
	if err != nil {
		t.Fatal(err)
	}
	config, err := pack.ParseConfig(source)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := mlx.NewPlan(&config, synth.NewValues(seed, &config), o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := plan.Config(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := plan.Write(t.Context(), dir, map[string][]byte{"config.json": text}, manifest.Manifest{Made: "a test"}, nil); err != nil {
		t.Fatal(err)
	}
	src, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, dir
}

// Packs of every recipe and of odd geometries are whole, run, and their activations are neither flat nor beyond measure.
func TestPacksRun(t *testing.T) {
	wide := packtest.Tiny()
	wide.PLEDim = 256 // rows of 32: a 4-bit table
	for _, c := range []struct {
		name string
		g    packtest.Geometry
	}{{"tiny", packtest.Tiny()}, {"odd", packtest.Odd()}, {"quantised table", wide}} {
		for _, recipe := range quantise.Names() {
			t.Run(c.name+"/"+recipe, func(t *testing.T) {
				p, _ := made(t, geometry(t, c.g, packtest.Options{WithMTP: true}), 7, recipe, mlx.Options{Head: true})
				if err := p.Verify(); err != nil {
					t.Fatal(err)
				}
				if ok, why := p.HasMTP(); !ok {
					t.Errorf("head: %s", why)
				}
				if s := p.Summary(); len(s.Unused) > 0 {
					t.Errorf("unused: got %v", s.Unused)
				}
				dev, err := cpu.New(cpu.Options{Threads: 1})
				if err != nil {
					t.Fatal(err)
				}
				defer dev.Close()
				m, err := model.Load(p, dev, model.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				head, err := mtp.Load(p, m)
				if err != nil {
					t.Fatal(err)
				}
				defer head.Close()
				ids := make([]int32, 60)
				for i := range ids {
					ids[i] = int32(i * 37 % p.Config.Vocab)
				}
				r, err := model.Logits(t.Context(), m, ids, model.LogitsOptions{All: true, Layers: true})
				if err != nil {
					t.Fatal(err) // logits that are not finite are an error
				}
				for name, rows := range r.Hidden {
					if dev := deviation(rows); !(dev > 0.02 && dev < 200) {
						t.Errorf("%s: standard deviation: got %g, want 0.02 to 200", name, dev)
					}
				}
				if dev := deviation(r.Logits); !(dev > 0.3 && dev < 30) {
					t.Errorf("logits: standard deviation: got %g, want 0.3 to 30", dev)
				}
				if same(r.Logits[0], r.Logits[1]) {
					t.Error("logits: positions 0 and 1 are equal")
				}
			})
		}
	}
}

func deviation(rows [][]float32) float64 {
	var n, sum, squares float64
	for _, r := range rows {
		for _, v := range r {
			n, sum, squares = n+1, sum+float64(v), squares+float64(v)*float64(v)
		}
	}
	return math.Sqrt(squares/n - sum/n*sum/n)
}

func same(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A pack is a function of geometry, recipe and seed; the seed changes weights and nothing else.
func TestDeterministic(t *testing.T) {
	sum := func(seed uint64, file string) string {
		_, dir := made(t, geometry(t, packtest.Tiny(), packtest.Options{WithMTP: true}), seed, "optimized-speed", mlx.Options{Head: true})
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		s := sha256.Sum256(data)
		return hex.EncodeToString(s[:])
	}
	for _, file := range []string{"config.json", "model.safetensors", "mtp.safetensors", "ngram-table.safetensors"} {
		a, b, other := sum(1, file), sum(1, file), sum(2, file)
		if a != b {
			t.Errorf("%s: got two files of one seed", file)
		}
		if differs := a != other; differs != (file != "config.json") {
			t.Errorf("%s: another seed changes it: got %t", file, differs)
		}
	}
}

// A sparse table is whole, takes no room on the disk, and its rows are zeros.
func TestSparseTable(t *testing.T) {
	// Released rows over a small trunk: a trunk of the released width would be gigabytes.
	small := packtest.Tiny()
	small.PLEDim, small.HeadsPerNgram, small.NgramDivisor = 2560, 8, 128
	g := geometry(t, small, packtest.Options{})
	if _, made, err := g.SetRows(320_001_536); err != nil || made[0] != 320_001_536 {
		t.Fatalf("rows: got %v %v, want 320001536", made, err)
	}
	p, dir := made(t, g, 1, "optimized-speed", mlx.Options{Sparse: true})
	if err := p.Verify(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, "ngram-table.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := st.Size(), int64(32_000_153_600); got < want || got > want+1024 {
		t.Errorf("table file: got %d bytes, want %d and a header", got, want)
	}
	if used, ok := blocks(st); ok && used > 1<<20 {
		t.Errorf("table file: got %d bytes on the disk, want a hole", used)
	}
	table, err := p.NgramTable(0)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 10)
	for _, s := range []int64{0, 312_121_804, table.Rows - 1} {
		if _, err := table.Shards[0].Scales.File.ReadAt(raw, table.Shards[0].Scales.Off+10*s); err != nil {
			t.Fatal(err)
		}
		for _, b := range raw {
			if b != 0 {
				t.Fatalf("row %d: scales: got %x, want zeros", s, raw)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Files["ngram-table.safetensors"].Tensors["ngram.scales"]; got != manifest.Sparse {
		t.Errorf("manifest: got %q, want %q", got, manifest.Sparse)
	}
}

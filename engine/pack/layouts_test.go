package pack_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// Every way of writing one model without loss reads as the same model, value by value.
func TestLayoutsMeanTheSame(t *testing.T) {
	square := packtest.Tiny() // 2*ExpertInner = Hidden: gate_up is square, the orientation hangs on down
	slab := packtest.Tiny()
	slab.ExpertInner = slab.Hidden // and here down is square
	dense := packtest.Tiny()
	dense.PLELayerIDs = nil
	dense.Kinds = dense.Kinds[:4]
	for _, g := range []struct {
		name string
		g    packtest.Geometry
		tab  int // a number of shards that divides the tables
	}{{"odd", packtest.Odd(), 10}, {"square", square, 4}, {"slab", slab, 2}, {"dense", dense, 0}} {
		ref := contents(t, packtest.Open(t, g.g, 5, packtest.Options{WithMTP: true, DType: pack.F32}))
		for name, o := range map[string]packtest.Options{
			"bf16":        {},
			"f16":         {DType: pack.F16},
			"per expert":  {PerExpert: true, Prefix: "model.language_model."},
			"transposed":  {Transposed: true, Prefix: packtest.NoPrefix},
			"shards":      {Shards: 3, TableShards: g.tab, HashBuffers: true},
			"mlx":         {Layout: pack.MLX},
			"mlx shards":  {Layout: pack.MLX, Shards: 2, HashBuffers: true},
			"mlx, prefix": {Layout: pack.MLX, Prefix: "model.language_model."},
		} {
			t.Run(g.name+"/"+name, func(t *testing.T) {
				o.WithMTP = true
				p := packtest.Open(t, g.g, 5, o)
				if p.Layout != o.Layout {
					t.Errorf("layout: got %v, want %v", p.Layout, o.Layout)
				}
				if err := p.Verify(); err != nil {
					t.Error(err)
				}
				if ok, why := p.HasMTP(); !ok {
					t.Errorf("head: %s", why)
				}
				if s := p.Summary(); len(s.Unused) > 0 {
					t.Errorf("unused: got %v", s.Unused)
				}
				got := contents(t, p)
				if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(ref)); !slices.Equal(a, b) {
					t.Fatalf("got %v\nwant %v", a, b)
				}
				for name, want := range ref {
					if !slices.Equal(got[name], want) {
						t.Errorf("%s: values differ", name)
					}
				}
			})
		}
	}
}

// Quantised packs come near the same model: an affine code of b bits is off by half a step of its group's range, and the
// rounding of scale and bias to bf16 adds some.
func TestQuantisedPacks(t *testing.T) {
	g := packtest.Tiny()
	g.PLEDim = 128 // rows of 16
	ref := contents(t, packtest.Open(t, g, 9, packtest.Options{WithMTP: true}))
	for name, c := range map[string]struct {
		o     packtest.Options
		limit float64 // of the largest difference over the largest value
	}{
		"8 bit":            {packtest.Options{Layout: pack.MLX, Bits: 8}, 0.012},
		"8 bit with table": {packtest.Options{Layout: pack.MLX, Bits: 8, TableBits: 8}, 0.012},
		"4 bit":            {packtest.Options{Layout: pack.MLX, Bits: 4, TableBits: 4}, 0.09},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.WithMTP = true
			p := packtest.Open(t, g, 9, c.o)
			if err := p.Verify(); err != nil {
				t.Fatal(err)
			}
			differ := false
			for name, got := range contents(t, p) {
				want := ref[name]
				var top, diff float64
				for i := range want {
					top = max(top, math.Abs(float64(want[i])))
					diff = max(diff, math.Abs(float64(got[i]-want[i])))
				}
				differ = differ || diff > 0
				if diff > c.limit*top {
					t.Errorf("%s: largest difference: got %g, want at most %g", name, diff, c.limit*top)
				}
			}
			if !differ {
				t.Error("got the unquantised values")
			}
			s := p.Summary()
			if c.o.Bits == 4 && (s.Formats["q4/32"] == 0 || s.Formats["q8/64"] == 0) || c.o.Bits == 8 && s.Formats["q8/64"] == 0 {
				t.Errorf("formats: got %v", s.Formats)
			}
			if got, want := s.Params["trunk"], packtest.Open(t, g, 9, packtest.Options{WithMTP: true}).Summary().Params["trunk"]; got != want {
				t.Errorf("trunk parameters: got %d, want %d", got, want)
			}
		})
	}
}

// A folder on disk reads like the same files in memory; the table is then read by position.
func TestDirectory(t *testing.T) {
	for _, o := range []packtest.Options{{WithMTP: true, Shards: 2, TableShards: 2}, {WithMTP: true, Layout: pack.MLX, Bits: 8}} {
		dir := t.TempDir()
		if err := packtest.Write(dir, packtest.Tiny(), 3, o); err != nil {
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
		memory := packtest.Open(t, packtest.Tiny(), 3, o)
		want := contents(t, memory)
		for name, got := range contents(t, p) {
			if !slices.Equal(got, want[name]) {
				t.Errorf("%s: values differ", name)
			}
		}
		table, err := p.NgramTable(0)
		if err != nil {
			t.Fatal(err)
		}
		if s := table.Shards[0].Weight; s.File == nil || !s.Mapping || int64(len(s.Data)) != s.Len {
			t.Errorf("table: got data of %d bytes, mapping %v, file %v; want the mapping and its file, for Place to choose from", len(s.Data), s.Mapping, s.File)
		}
		if a, b := p.Fingerprint(), memory.Fingerprint(); a != b {
			t.Errorf("fingerprint: got %s on disk, %s in memory", a, b)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	o := packtest.Options{WithMTP: true}
	seen := map[string]string{}
	add := func(name string, g packtest.Geometry, seed uint64, o packtest.Options) {
		f := packtest.Open(t, g, seed, o).Fingerprint()
		if len(f) != 64 {
			t.Errorf("%s: got %q, want 64 hex digits", name, f)
		}
		if old, ok := seen[f]; ok {
			t.Errorf("%s and %s: got equal fingerprints", name, old)
		}
		seen[f] = name
	}
	add("tiny", packtest.Tiny(), 1, o)
	add("seed", packtest.Tiny(), 2, o)
	add("layout", packtest.Tiny(), 1, packtest.Options{WithMTP: true, Layout: pack.MLX})
	eps := packtest.Tiny()
	eps.Eps = 1e-5
	add("eps", eps, 1, o)
	if a, b := packtest.Open(t, packtest.Tiny(), 1, o).Fingerprint(), packtest.Open(t, packtest.Tiny(), 1, o).Fingerprint(); a != b {
		t.Errorf("same pack: got %s and %s", a, b)
	}
}

func TestHashBuffers(t *testing.T) {
	for _, layout := range []pack.Layout{pack.HF, pack.MLX} {
		p := packtest.Open(t, packtest.Odd(), 1, packtest.Options{Layout: layout, HashBuffers: true})
		sizes, ok, err := p.Ints("layers.2.ple.ple_embedding.ngram_heads_vocab_sizes", 9)
		// The second layer's primes go on where the first layer's nine from 57 end (spec 2): 59 .. 97, 101 ..
		if err != nil || !ok || !slices.Equal(sizes, []int64{101, 103, 107, 109, 113, 127, 131, 137, 139}) {
			t.Errorf("%v: got %v %t %v", layout, sizes, ok, err)
		}
		if _, _, err := p.Ints("layers.2.ple.ple_embedding.ngram_heads_vocab_sizes", 8); err == nil {
			t.Errorf("%v: wrong length: got no error", layout)
		}
	}
	p := packtest.Open(t, packtest.Odd(), 1, packtest.Options{})
	if got, ok, err := p.Ints("layers.2.ple.ple_embedding.layer_multipliers", 4); got != nil || ok || err != nil {
		t.Errorf("absent: got %v %t %v, want nil false nil", got, ok, err)
	}
}

func TestTied(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{Tied: true})
	a, err := p.Linear("lm_head", 256, 64)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Linear("embed_tokens", 256, 64)
	if err != nil {
		t.Fatal(err)
	}
	if &a.Parts[0].Data[0] != &b.Parts[0].Data[0] {
		t.Error("got another matrix for lm_head, want embed_tokens")
	}
}

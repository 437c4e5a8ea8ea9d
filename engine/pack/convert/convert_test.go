package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/convert"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/quantise"
)

// open opens a folder and closes it with the test.
func open(t *testing.T, dir string) *pack.Pack {
	t.Helper()
	src, err := pack.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// to converts a pack, and returns the folder or the error.
func to(t *testing.T, p *pack.Pack, recipe string, run func(context.Context, []mlx.Job) error) (string, error) {
	t.Helper()
	r, err := quantise.ByName(recipe)
	if err != nil {
		t.Fatal(err)
	}
	source, err := convert.From(p)
	if err != nil {
		return "", err
	}
	o := mlx.Options{Recipe: r}
	o.Head, _ = source.Head()
	plan, err := mlx.NewPlan(&p.Config, source, o)
	if err != nil {
		return "", err
	}
	config, _, err := p.File("config.json")
	if err != nil {
		t.Fatal(err)
	}
	if config, err = plan.Config(config); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	return out, plan.Write(t.Context(), out, map[string][]byte{"config.json": config}, manifest.Manifest{Made: "a test"}, run)
}

func must(t *testing.T, p *pack.Pack, recipe string) string {
	t.Helper()
	out, err := to(t, p, recipe, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// weights are the safetensors files of a folder.
func weights(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %v %v", dir, files, err)
	}
	out := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(data)
	}
	return out
}

// sameFiles compares two sets of files byte by byte.
func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d files, want %d", what, len(got), len(want))
	}
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// The 8-bit pack that the binary embeds is what convert makes of the bf16 one, to the byte: weights, side-car and head.
// config.json means the same.
func TestReproducesNano(t *testing.T) {
	shared := os.Getenv("FLASHLANE_GOLDEN_DIR")
	if shared == "" {
		t.Skip("SKIPPED: FLASHLANE_GOLDEN_DIR is not set, so the bf16 nano pack was NOT converted and compared with the embedded one")
	}
	out := must(t, open(t, filepath.Join(shared, "pack", "nano")), "q8")
	embedded := filepath.Join("..", "..", "..", "nano", "pack")
	sameFiles(t, "nano as q8", weights(t, out), weights(t, embedded))
	config := func(dir string) (m map[string]any) {
		data, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if got, want := config(out), config(embedded); !reflect.DeepEqual(got, want) {
		t.Errorf("config.json: got %v\nwant %v", got, want)
	}
}

// Every way of writing one model converts to the same bytes, whatever the recipe, and is whole.
func TestEverySource(t *testing.T) {
	square := packtest.Tiny() // 2*ExpertInner = Hidden: gate_up is square, the orientation hangs on down
	slab := packtest.Tiny()
	slab.ExpertInner = slab.Hidden // and here down is square
	wide := packtest.Tiny()
	wide.PLEDim = 256 // rows of 32: the table is quantised
	dense := packtest.Tiny()
	dense.PLELayerIDs = nil
	dense.Kinds = dense.Kinds[:4]
	for _, g := range []struct {
		name string
		g    packtest.Geometry
		tab  int // a number of shards that divides the tables
	}{{"odd", packtest.Odd(), 10}, {"square", square, 4}, {"slab", slab, 2}, {"wide", wide, 4}, {"dense", dense, 0}} {
		recipes := quantise.Names()
		if g.name != "odd" && g.name != "wide" {
			recipes = recipes[:1] // what is special about the others is how their tensors lie
		}
		for _, recipe := range recipes {
			t.Run(g.name+"/"+recipe, func(t *testing.T) {
				ref := must(t, packtest.Open(t, g.g, 5, packtest.Options{WithMTP: true}), recipe)
				p := open(t, ref)
				if err := p.Verify(); err != nil || p.Layout != pack.MLX {
					t.Errorf("got %v %v, want a whole pack in the mlx layout", p.Layout, err)
				}
				if ok, why := p.HasMTP(); !ok {
					t.Errorf("head: %s", why)
				}
				if s := p.Summary(); len(s.Unused) > 0 {
					t.Errorf("unused: got %v", s.Unused)
				}
				want := weights(t, ref)
				for name, o := range map[string]packtest.Options{
					"f32":         {DType: pack.F32},
					"f16":         {DType: pack.F16},
					"per expert":  {PerExpert: true, Prefix: "model.language_model."},
					"transposed":  {Transposed: true, Prefix: packtest.NoPrefix},
					"shards":      {Shards: 3, TableShards: g.tab, HashBuffers: true},
					"mlx, plain":  {Layout: pack.MLX},
					"mlx, shards": {Layout: pack.MLX, Shards: 2},
				} {
					o.WithMTP = true
					got := weights(t, must(t, packtest.Open(t, g.g, 5, o), recipe))
					if o.DType == pack.F32 { // A_log keeps its type
						trimALog(t, got, want, name)
						continue
					}
					sameFiles(t, name, got, want)
				}
			})
		}
	}
}

// trimALog compares everything but the trunk file, whose A_log tensors are F32 and so longer; of these it checks the type.
func trimALog(t *testing.T, got, want map[string]string, name string) {
	t.Helper()
	const trunk = "model.safetensors"
	if !strings.Contains(got[trunk], `linear_attn.A_log": {"dtype": "F32"`) || !strings.Contains(want[trunk], `linear_attn.A_log": {"dtype": "BF16"`) {
		t.Errorf("%s: A_log: want F32 of an F32 source and BF16 of a BF16 one", name)
	}
	a, b := map[string]string{}, map[string]string{}
	for file := range want {
		if file != trunk {
			a[file], b[file] = got[file], want[file]
		}
	}
	sameFiles(t, name, a, b)
}

// A folder on disk, read by position, converts like the same files in memory; and what was converted converts again with
// its own recipe to the same bytes, as codes are copied.
func TestAgain(t *testing.T) {
	for _, recipe := range quantise.Names() {
		o := packtest.Options{WithMTP: true, Transposed: true, TableShards: 4, Shards: 2}
		dir := t.TempDir()
		if err := packtest.Write(dir, packtest.Tiny(), 3, o); err != nil {
			t.Fatal(err)
		}
		once := must(t, open(t, dir), recipe)
		sameFiles(t, recipe+" from memory", weights(t, must(t, packtest.Open(t, packtest.Tiny(), 3, o), recipe)), weights(t, once))
		sameFiles(t, recipe+" again", weights(t, must(t, open(t, once), recipe)), weights(t, once))
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      packtest.Options
		change func(files map[string]string)
		recipe string
		kind   error
		parts  []string
	}{
		{"codes to other codes", packtest.Options{Layout: pack.MLX, Bits: 8}, nil, "q4", convert.ErrInexact, []string{"lm_head", "q8/64", "q4/32"}},
		{"codes to floats", packtest.Options{Layout: pack.MLX, Bits: 4}, nil, "bf16", convert.ErrInexact, []string{"would become bf16"}},
		{"table in other codes", packtest.Options{Layout: pack.MLX, TableBits: 8}, nil, "q8", convert.ErrInexact, []string{"ngram.weight", "q8/8"}},
		{"a tensor is missing", packtest.Options{}, func(f map[string]string) {
			f["model.safetensors"] = strings.Replace(f["model.safetensors"], `"model.lm_head`, `"model.xx_head`, 1)
			f["model.safetensors"] = strings.Replace(f["model.safetensors"], `"lm_head`, `"xx_head`, 1)
		}, "q8", pack.ErrMissing, []string{"lm_head"}},
		{"constants of another model", packtest.Options{HashBuffers: true}, func(f map[string]string) {
			f["config.json"] = strings.Replace(f["config.json"], `"vocab_size": 256`, `"vocab_size": 256, "seed": 5`, 1)
		}, "q8", pack.ErrCorrupt, []string{"layer_multipliers[0]"}},
		{"a NaN", packtest.Options{}, func(f map[string]string) { poison(f, 0x7f) }, "q8", quantise.ErrValue, []string{"embed_tokens", "rows 0 to"}},
	} {
		files, err := packtest.Files(packtest.Tiny(), 1, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if c.change != nil {
			c.change(files)
		}
		p, err := pack.Open(pack.Files("bent", files))
		if err != nil {
			t.Fatal(err)
		}
		out, err := to(t, p, c.recipe, nil)
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.kind)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got %v, want it to have %q", c.name, err, part)
			}
		}
		if out != "" {
			empty(t, c.name, out)
		}
		p.Close()
	}
}

// poison makes every byte of the trunk's first tensor the one given: 0x7f7f is a large bf16, 0x7fff a NaN.
func poison(files map[string]string, b byte) {
	data := []byte(files["model.safetensors"])
	head := 8 + int(data[0]) + int(data[1])<<8 + int(data[2])<<16
	data[head], data[head+1] = 0xff, b
	files["model.safetensors"] = string(data)
}

// empty checks that neither the folder nor a part of it is there.
func empty(t *testing.T, what, out string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(left) > 0 {
		t.Errorf("%s: left behind: got %v %v, want nothing", what, left, err)
	}
}

// In the middle of it there is no folder of the name, and what is there is no pack: that is what a killed run leaves. One
// that is cancelled leaves nothing.
func TestInTheMiddle(t *testing.T) {
	p := packtest.Open(t, packtest.Tiny(), 1, packtest.Options{WithMTP: true})
	for _, at := range []int{0, 1, 10} {
		looked := false
		ctx, stop := context.WithCancel(t.Context())
		out, err := to(t, p, "q4", func(_ context.Context, jobs []mlx.Job) error {
			for i := range jobs {
				if i == at {
					looked = true
					look(t)
					stop()
				}
				if err := jobs[i].Run(ctx, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || !looked {
			t.Errorf("job %d: got %v, want it cancelled", at, err)
		}
		empty(t, fmt.Sprint("job ", at), out)
	}
}

// look finds the partial folder of the running test and tries to open it.
func look(t *testing.T) {
	t.Helper()
	partial, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "out.partial"))
	if err != nil || len(partial) == 0 {
		t.Fatalf("partial folder: got %v %v", partial, err)
	}
	for _, dir := range partial {
		if _, err := os.Stat(strings.TrimSuffix(dir, ".partial")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder has its name before it is whole", dir)
		}
		src, err := pack.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pack.Open(src); !errors.Is(err, pack.ErrMissing) {
			t.Errorf("%s: opens as a pack: %v", dir, err)
		}
	}
}

// A job's memory does not grow with its tensor: the same few buffers do for matrices eight times as large.
func TestMemory(t *testing.T) {
	for _, form := range []packtest.Options{{}, {Transposed: true}, {PerExpert: true}} {
		alloc := func(vocab, experts int) map[string]uint64 {
			g := packtest.Tiny()
			g.Vocab, g.Experts, g.Kinds, g.PLELayerIDs, g.Hidden = vocab, experts, g.Kinds[:3], nil, 128
			g.EOS, g.RootEOS = []int32{0}, nil
			p := packtest.Open(t, g, 1, form)
			most := map[string]uint64{}
			_, err := to(t, p, "optimized-speed", func(ctx context.Context, jobs []mlx.Job) error {
				for i := range jobs {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					if err := jobs[i].Run(ctx, nil); err != nil {
						return err
					}
					runtime.ReadMemStats(&after)
					kind := jobs[i].Name[strings.LastIndex(jobs[i].Name, ".")+1:]
					most[kind] = max(most[kind], after.TotalAlloc-before.TotalAlloc)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return most
		}
		small, large := alloc(1<<13, 16), alloc(1<<16, 128)
		for _, kind := range []string{"embed_tokens", "gate_proj", "down_proj"} {
			if a, b := small[kind], large[kind]; b > 4<<20 || b > a+a/2+(1<<16) {
				t.Errorf("%+v: %s: got %d bytes allocated for the small model and %d for one eight times as large", form, kind, a, b)
			}
		}
	}
}

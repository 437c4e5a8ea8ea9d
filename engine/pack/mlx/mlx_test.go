package mlx_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/manifest"
	"github.com/flashlane/flashlane/engine/pack/mlx"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/engine/pack/quantise"
	"github.com/flashlane/flashlane/engine/pack/synth"
)

// planned is a plan of a packtest geometry with random numbers, and the config it came from.
func planned(t *testing.T, g packtest.Geometry, po packtest.Options, recipe string, o mlx.Options) (*mlx.Plan, []byte) {
	t.Helper()
	files, err := packtest.Files(g, 1, po)
	if err != nil {
		t.Fatal(err)
	}
	source := []byte(files["config.json"])
	config, err := pack.ParseConfig(source)
	if err != nil {
		t.Fatal(err)
	}
	if o.Recipe, err = quantise.ByName(recipe); err != nil {
		t.Fatal(err)
	}
	p, err := mlx.NewPlan(&config, synth.NewValues(1, &config), o)
	if err != nil {
		t.Fatal(err)
	}
	return p, source
}

// config.json is nested, says where table and head lie, keeps the model's own fields, and forgets those of the source's
// container.
func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name   string
		source packtest.Options // flat, or nested
		head   bool
		recipe string
	}{
		{"flat, with head", packtest.Options{WithMTP: true}, true, "optimized-speed"},
		{"nested, with head", packtest.Options{WithMTP: true, Prefix: "model.language_model."}, true, "q8"},
		{"mlx, head left out", packtest.Options{WithMTP: true, Layout: pack.MLX, Bits: 4}, false, "bf16"},
	} {
		p, source := planned(t, packtest.Odd(), c.source, c.recipe, mlx.Options{Head: c.head})
		text, err := p.Config(source)
		if err != nil {
			t.Fatal(err)
		}
		want, err := pack.ParseConfig(source)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pack.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		want.ModelType, want.StopIDs = got.ModelType, got.StopIDs // nested now; the root has the ids that end an answer
		if !c.head {
			want.MTPLayers, want.MTPRope = 0, want.Rope
		}
		a, b := must(json.Marshal(got)), must(json.Marshal(want))
		if string(a) != string(b) {
			t.Errorf("%s: geometry: got %s\nwant %s", c.name, a, b)
		}
		var root struct {
			Arch  []string          `json:"architectures"`
			Extra map[string]string `json:"mlx_lm_extra_tensors"`
			Quant map[string]any    `json:"quantization"`
			Text  map[string]any    `json:"text_config"`
		}
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}
		if root.Extra["ngram_file"] != "ngram-table.safetensors" || (root.Extra["mtp_file"] == "mtp.safetensors") != c.head || root.Text["ngram_sidecar"] != true {
			t.Errorf("%s: files: got %v", c.name, root.Extra)
		}
		if (root.Quant != nil) != (c.recipe != "bf16") || c.recipe == "q8" && root.Quant["group_size"] != 64.0 {
			t.Errorf("%s: quantization: got %v", c.name, root.Quant)
		}
		if len(root.Arch) != 1 || root.Text["architectures"] != nil {
			t.Errorf("%s: architectures: got %v", c.name, root.Arch)
		}
	}
	p, _ := planned(t, packtest.Tiny(), packtest.Options{}, "q8", mlx.Options{})
	if _, err := p.Config([]byte("{")); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("bad JSON: got %v", err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// Jobs may run at once and in any order; they tell of every byte, and make the files that jobs in turn make.
func TestJobsInAnyOrder(t *testing.T) {
	write := func(run func(context.Context, []mlx.Job) error) map[string]string {
		p, source := planned(t, packtest.Tiny(), packtest.Options{}, "optimized-speed", mlx.Options{Head: true, Shard: 100_000})
		out := filepath.Join(t.TempDir(), "out")
		texts := map[string][]byte{"config.json": must(p.Config(source))}
		if err := p.Write(t.Context(), out, texts, manifest.Manifest{}, run); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			files[e.Name()] = string(must(os.ReadFile(filepath.Join(out, e.Name()))))
		}
		return files
	}
	inTurn := write(nil)
	atOnce := write(func(ctx context.Context, jobs []mlx.Job) error {
		errs := make(chan error, len(jobs))
		for i := range jobs {
			go func() {
				var told atomic.Int64
				err := jobs[len(jobs)-1-i].Run(ctx, func(n int64) { told.Add(n) })
				if got, want := told.Load(), jobs[len(jobs)-1-i].Bytes; err == nil && got != want {
					t.Errorf("%s: told of %d bytes, want %d", jobs[len(jobs)-1-i].Name, got, want)
				}
				errs <- err
			}()
		}
		var err error
		for range jobs {
			err = errors.Join(err, <-errs)
		}
		return err
	})
	if !maps.Equal(inTurn, atOnce) {
		t.Errorf("files differ: got %v and %v", slices.Sorted(maps.Keys(inTurn)), slices.Sorted(maps.Keys(atOnce)))
	}
	if inTurn["model.safetensors.index.json"] == "" || inTurn["model-00002-of-00006.safetensors"] == "" {
		t.Errorf("got %v, want shards and an index", slices.Sorted(maps.Keys(inTurn)))
	}
}

// A job that was not run keeps the folder from its name; a sparse table is no job at all.
func TestEveryJobMustRun(t *testing.T) {
	p, source := planned(t, packtest.Tiny(), packtest.Options{}, "q4", mlx.Options{Sparse: true})
	out := filepath.Join(t.TempDir(), "out")
	texts := map[string][]byte{"config.json": must(p.Config(source))}
	err := p.Write(t.Context(), out, texts, manifest.Manifest{}, func(ctx context.Context, jobs []mlx.Job) error {
		for i := range jobs {
			if strings.HasPrefix(jobs[i].Name, "ngram") {
				t.Errorf("got a job for %s, which is left a hole", jobs[i].Name)
			}
			if i == 3 {
				continue
			}
			if err := jobs[i].Run(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "was never finished") {
		t.Errorf("got %v, want the tensor that was never finished", err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("left behind: got %v %v, want nothing", left, err)
	}
	all, written := p.Bytes()
	if table := p.Tables()[0]; all-written != table.Bytes || table.Bytes == 0 {
		t.Errorf("bytes: got %d, %d of them written, with a table of %d", all, written, table.Bytes)
	}
}

// failing gives no norms and no table.
type failing struct{ mlx.Values }

func (failing) Norm(name string, _ int) ([]float32, bool, error) {
	return nil, false, errors.New("no norm " + name)
}

// Everything that cannot be had is found before anything is written, and told at once, up to a limit.
func TestPlanGathersErrors(t *testing.T) {
	files, err := packtest.Files(packtest.Tiny(), 1, packtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := pack.ParseConfig([]byte(files["config.json"]))
	if err != nil {
		t.Fatal(err)
	}
	_, err = mlx.NewPlan(&config, failing{synth.NewValues(1, &config)}, mlx.Options{})
	if err == nil || !strings.Contains(err.Error(), "no norm hyper_connection_mixer.hc_norm\n") || !strings.Contains(err.Error(), "and perhaps more") {
		t.Errorf("got %v, want the norms", err)
	}
}

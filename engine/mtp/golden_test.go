package mtp_test

import (
	"context"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/metal"
)

// TestGoldenNanoQ8 holds the embedded pack's head against vectors made by the implementation that trained it.
func TestGoldenNanoQ8(t *testing.T) {
	golden(t, modeltest.Nano(t), modeltest.OpenGolden(t, "../model/testdata/nano-q8"))
}

// TestGoldenNanoBF16 does so for the bf16 pack, which is too large to keep here.
func TestGoldenNanoBF16(t *testing.T) {
	p, g := modeltest.NanoBF16(t)
	golden(t, p, g)
}

const (
	logitsWithin  = 2e-3
	streamsWithin = 1e-3 // relative to the largest value
)

func golden(t *testing.T, p *pack.Pack, g modeltest.Golden) {
	m, h := load(t, p, 2)
	var f struct {
		Prompts map[string]struct {
			IDs    []int32 `json:"ids"`
			First  int32   `json:"first_token_from_main"`
			Drafts []int32 `json:"draft_tokens"`
		} `json:"prompts"`
	}
	g.JSON("mtp.json", &f)
	want := g.Tensors("mtp.safetensors")
	for name, c := range f.Prompts {
		t.Run(name, func(t *testing.T) {
			d := newDrafting(t, m, h, 64)
			logits := d.prefill(c.IDs, 64)
			if got := modeltest.MaxDiff(logits, want.Rows(name + ".main_last")[0]); got > logitsWithin {
				t.Errorf("trunk logits: got %.3g away, want %.3g", got, logitsWithin)
			}
			if got := modeltest.ArgMax(logits); got != c.First {
				t.Errorf("first token: got %d, want %d", got, c.First)
			}
			rows, streams := want.Rows(name+".draft_logits"), want.Rows(name+".draft_streams")
			d.head.Probe = func(step int, x metal.Mat) {
				got := make([]float32, x.Cols)
				if err := d.head.Stream().Read(got, x.Row(0)); err != nil {
					t.Fatal(err)
				}
				scale := modeltest.MaxDiff(streams[step], make([]float32, x.Cols))
				if diff := modeltest.MaxDiff(got, streams[step]) / scale; !(diff <= streamsWithin) {
					t.Errorf("step %d: streams: got %.3g away, want %.3g", step, diff, streamsWithin)
				}
			}
			var drafts []int32
			job := d.job(c.First, len(c.Drafts), func(step int, logits []float32) (int32, error) {
				if got := modeltest.MaxDiff(logits, rows[step]); got > logitsWithin {
					t.Errorf("step %d: logits: got %.3g away, want %.3g", step, got, logitsWithin)
				}
				drafts = append(drafts, modeltest.ArgMax(logits))
				return drafts[step], nil
			})
			if err := d.head.Draft(context.Background(), []mtp.Job{job}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(drafts, c.Drafts) {
				t.Errorf("got drafts %v, want %v", drafts, c.Drafts)
			}
		})
	}
}

func load(t testing.TB, p *pack.Pack, threads int) (*model.Model, *mtp.Head) {
	t.Helper()
	m := modeltest.Load(t, p, modeltest.CPU(t, threads))
	h, err := mtp.Load(p, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return m, h
}

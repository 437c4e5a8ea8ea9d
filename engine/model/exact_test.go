package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/modeltest"
	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/packtest"
)

// same asks for equal bits of all rows.
func same(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d rows, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: row %d: bits differ, by up to %.3g", what, i, modeltest.MaxDiff(got[i], want[i]))
		}
	}
}

// TestRowsDoNotDependOnChunks runs a prompt that crosses the QSA budget in chunks of 1, 7, 64 and all.
func TestRowsDoNotDependOnChunks(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m := modeltest.Load(t, packtest.Open(t, g, 12, packtest.Options{}), modeltest.CPU(t, 2))
			ids := tokens(g, 4, 2*g.IndexBudget+5)
			want := modeltest.NewRunner(t, m, len(ids)).Feed(ids, len(ids), model.LogitsAll)
			for _, chunk := range []int{1, 7, 64} {
				got := modeltest.NewRunner(t, m, 64).Feed(ids, chunk, model.LogitsAll)
				same(t, fmt.Sprintf("chunks of %d", chunk), got, want)
			}
		})
	}
}

// TestNanoRowsDoNotDependOnChunksOrThreads does so for the embedded pack, whose sizes reach the blocked kernels.
func TestNanoRowsDoNotDependOnChunksOrThreads(t *testing.T) {
	var prompts map[string]prompt
	modeltest.OpenGolden(t, "testdata/nano-q8").JSON("prompts.json", &prompts)
	ids := prompts["chat_tool"].IDs
	p := modeltest.Nano(t)
	one := modeltest.Load(t, p, modeltest.CPU(t, 1))
	two := modeltest.Load(t, p, modeltest.CPU(t, 2))
	want := modeltest.NewRunner(t, two, 512).Feed(ids, 512, model.LogitsAll)
	same(t, "one thread, all at once", modeltest.NewRunner(t, one, 512).Feed(ids, 512, model.LogitsAll), want)
	same(t, "two threads, chunks of 64", modeltest.NewRunner(t, two, 64).Feed(ids, 64, model.LogitsAll), want)
	same(t, "two threads, chunks of 7", modeltest.NewRunner(t, two, 7).Feed(ids, 7, model.LogitsAll), want)
	r := modeltest.NewRunner(t, one, 128)
	r.Feed(ids[:256], 128, model.LogitsNone)
	same(t, "one thread, then token by token", r.Feed(ids[256:], 1, model.LogitsAll), want[256:])
}

// TestRowsDoNotDependOnNeighbours runs sequences of different lengths side by side, drafts and prefill mixed.
func TestRowsDoNotDependOnNeighbours(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			m := modeltest.Load(t, packtest.Open(t, g, 13, packtest.Options{}), modeltest.CPU(t, 2))
			var runners []*modeltest.Runner
			var want [][][]float32
			lens := []int{g.IndexBudget + 7, 1, 3*g.IndexRatio - 1}
			for i, n := range lens {
				ids := tokens(g, uint64(20+i), n+9)
				alone := modeltest.NewRunner(t, m, 128)
				alone.Feed(ids[:n], 128, model.LogitsNone)
				want = append(want, alone.Feed(ids[n:], 128, model.LogitsAll))
				r := modeltest.NewRunner(t, m, 128)
				r.Feed(ids[:n], 128, model.LogitsNone)
				runners = append(runners, r)
			}
			p := runners[0].Pass
			for from := 0; from < 9; from += 3 {
				var segs []*model.Segment
				for i, r := range runners {
					ids := tokens(g, uint64(20+i), lens[i]+9)[lens[i]+from:]
					mode := model.LogitsAll
					if i == from/3 {
						mode = model.LogitsLast
					}
					segs = append(segs, r.Segment(ids[:3], from == 0 || i > 0, mode))
				}
				runners[0].Run(segs...)
				for i, r := range runners {
					rows := want[i][from : from+3]
					if segs[i].Logits == model.LogitsLast {
						rows = rows[2:]
					}
					same(t, fmt.Sprintf("sequence %d, rows from %d", i, from), modeltest.Logits(t, m, p, segs[i]), rows)
					r.Commit(p, segs[i], 3)
				}
			}
		})
	}
}

// TestLayoutsAgree loads the same random weights from an HF pack and from an unquantised MLX pack.
func TestLayoutsAgree(t *testing.T) {
	for _, c := range geometries {
		t.Run(c.name, func(t *testing.T) {
			g := c.make()
			var got [][][]float32
			for _, o := range []packtest.Options{
				{}, {Layout: pack.MLX}, {PerExpert: true, Prefix: "model.language_model.", Shards: 3, HashBuffers: true},
			} {
				m := modeltest.Load(t, packtest.Open(t, g, 14, o), modeltest.CPU(t, 1))
				ids := tokens(g, 5, g.IndexBudget+9)
				got = append(got, modeltest.NewRunner(t, m, 128).Feed(ids, 128, model.LogitsAll))
			}
			same(t, "MLX", got[1], got[0])
			same(t, "per expert, sharded", got[2], got[0])
		})
	}
}

// TestNaNStaysInItsSequence poisons the state of one sequence.
func TestNaNStaysInItsSequence(t *testing.T) {
	g := packtest.Tiny()
	m := modeltest.Load(t, packtest.Open(t, g, 15, packtest.Options{}), modeltest.CPU(t, 2))
	ids := tokens(g, 6, 50)
	alone := modeltest.NewRunner(t, m, 64)
	alone.Feed(ids[:46], 64, model.LogitsNone)
	want := alone.Feed(ids[46:], 64, model.LogitsAll)

	well, ill := modeltest.NewRunner(t, m, 64), modeltest.NewRunner(t, m, 64)
	well.Feed(ids[:46], 64, model.LogitsNone)
	ill.Feed(ids[:46], 64, model.LogitsNone)
	state := ill.Seq.Recurrent[0].State.Now()
	f := make([]float32, state.N)
	for i := range f {
		f[i] = nan()
	}
	ill.Pass.Stream().Write(state, f)
	a, b := ill.Segment(ids[46:], true, model.LogitsAll), well.Segment(ids[46:], true, model.LogitsAll)
	well.Run(a, b)
	if row := modeltest.Logits(t, m, well.Pass, a)[0]; row[0] == row[0] {
		t.Fatal("the poisoned sequence has finite logits: nothing was tested")
	}
	same(t, "beside a poisoned sequence", modeltest.Logits(t, m, well.Pass, b), want)
}

func nan() float32 {
	zero := float32(0)
	return zero / zero
}

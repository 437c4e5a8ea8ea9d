package actors_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/pack/packtest"
	"github.com/flashlane/flashlane/metal/cpu"
)

// subject is a pack and the prompts to try on it, below and above the QSA budget.
type subject struct {
	name    string
	bundles []*bundle.Bundle // by thread count, from 1
	prompts [][]int32
	tokens  int
}

func subjects(t *testing.T) []subject {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n, vocab int, eos int32) []int32 {
		p := make([]int32, n)
		for i := range p {
			p[i] = int32(rng.IntN(vocab))
			if rng.IntN(20) == 0 {
				p[i] = eos
			}
		}
		return p
	}
	open := func(dir string) []*bundle.Bundle {
		return []*bundle.Bundle{housetest.Open(t, dir, 1), housetest.Open(t, dir, 2)}
	}
	var out []subject
	for name, g := range map[string]packtest.Geometry{"tiny": packtest.Tiny(), "odd": packtest.Odd()} {
		dir := t.TempDir()
		if err := packtest.Write(dir, g, 7, packtest.Options{WithMTP: true}); err != nil {
			t.Fatal(err)
		}
		out = append(out, subject{name, open(dir), [][]int32{random(5, g.Vocab, g.EOS[0]), random(29, g.Vocab, g.EOS[0]), random(101, g.Vocab, g.EOS[0])}, 33})
	}
	g := goldens(t)
	fast := func(threads int) *bundle.Bundle {
		return housetest.OpenOn(t, nanoPack, cpu.Options{Threads: threads, Precision: cpu.Fast})
	}
	return append(out, subject{"nano", open(nanoPack), [][]int32{g["chat_think"].Prompt, g["chat_tool"].Prompt}, 24},
		subject{"nano fast", []*bundle.Bundle{fast(1), fast(2)}, [][]int32{g["chat_tool"].Prompt}, 24})
}

// arrangement is everything that must not change a byte.
type arrangement struct {
	Depth, Threads, Chunk int
	PLE, QSA              bool // lanes at the start
	Switch                int  // flip a lane every so many events; 0 never
	Beside                int  // other requests running at the same time
	Mode                  actors.PLEMode
	Warm                  int // times the same prompt was answered before, with a prefix cache
}

func randomArrangement(rng *rand.Rand) arrangement {
	return arrangement{
		Depth: rng.IntN(8), Threads: 1 + rng.IntN(2), Chunk: []int{1, 7, 64, 4096}[rng.IntN(4)],
		PLE: rng.IntN(2) == 0, QSA: rng.IntN(2) == 0, Switch: []int{0, 1, 3}[rng.IntN(3)], Beside: []int{0, 3}[rng.IntN(2)],
		Mode: []actors.PLEMode{actors.Cached, actors.Cached, actors.AsyncRaw, actors.Sync, actors.Stock}[rng.IntN(5)],
		Warm: []int{0, 1, 2}[rng.IntN(3)],
	}
}

// play runs one request under an arrangement.
func play(t *testing.T, sub subject, a arrangement, prompt []int32, temperature float64, seed uint64) housetest.Answer {
	t.Helper()
	c := housetest.Config(sub.bundles[a.Threads-1])
	c.Chunk, c.PLEMode, c.StopIDs = a.Chunk, a.Mode, nil
	if a.Warm > 0 {
		c.PrefixCache = 64 << 20
	}
	s := housetest.Start(t, c)
	for i := range a.Warm { // one request that takes the same way, one that leaves it
		r := housetest.Request(prompt, sub.tokens/(1+i))
		r.Depth, r.Sampling.Temperature, r.Sampling.Seed = a.Depth, temperature, seed+uint64(i)
		if b := housetest.Run(t.Context(), s, r, nil); b.Err != nil {
			t.Errorf("warming: %v", b.Err)
		}
	}
	set := func(l lanes.Lane, on bool) {
		if a.Mode == actors.Stock && l == lanes.PLE {
			return // declined at load: cannot be armed
		}
		if _, err := s.SetLane(t.Context(), l.String(), on); err != nil {
			t.Errorf("set lane %v: %v", l, err)
		}
	}
	set(lanes.PLE, a.PLE)
	set(lanes.QSA, a.QSA)
	var others sync.WaitGroup
	for i := range a.Beside {
		others.Go(func() {
			r := housetest.Request(sub.prompts[i%len(sub.prompts)], sub.tokens)
			r.Sampling.Temperature, r.Sampling.Seed, r.Depth = 1, uint64(i), i
			if b := housetest.Run(t.Context(), s, r, nil); b.Err != nil {
				t.Errorf("neighbour %d: %v", i, b.Err)
			}
		})
	}
	r := housetest.Request(prompt, sub.tokens)
	r.Depth, r.Sampling.Temperature, r.Sampling.Seed, r.Sampling.TopLogprobs = a.Depth, temperature, seed, 3
	r.Sampling.Presence, r.Sampling.Repetition = 0.3, 1.1
	events := 0
	got := housetest.Run(t.Context(), s, r, func(intake.Event) {
		if events++; a.Switch > 0 && events%a.Switch == 0 {
			n := events / a.Switch
			set(lanes.All()[n%2], n%4 < 2)
		}
	})
	others.Wait()
	return got
}

// TestOneTokenStream is promise 1 (design, section 1) as a property: ids and logprobs are a pure function of pack, prompt,
// sampling parameters and seed, whatever the arrangement.
func TestOneTokenStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(20260829, 1))
	for _, sub := range subjects(t) {
		for i, prompt := range sub.prompts {
			for _, temperature := range []float64{0, 1} {
				t.Run(fmt.Sprintf("%s/prompt=%d/temperature=%v", sub.name, i, temperature), func(t *testing.T) {
					seed := rng.Uint64()
					plain := arrangement{Depth: 0, Threads: 1, Chunk: 1, Mode: actors.Stock}
					want := play(t, sub, plain, prompt, temperature, seed)
					if want.Err != nil || len(want.Tokens) != sub.tokens {
						t.Fatalf("reference run: %d tokens, %v", len(want.Tokens), want.Err)
					}
					for range 7 {
						a := randomArrangement(rng)
						got := play(t, sub, a, prompt, temperature, seed)
						if got.Err != nil {
							t.Fatalf("%+v: %v", a, got.Err)
						}
						if d := cmp.Diff(want.Tokens, got.Tokens); d != "" {
							t.Fatalf("%+v: tokens or logprobs differ (-reference +got):\n%s", a, d)
						}
						if a.Depth > 0 && got.Report.Rounds > sub.tokens {
							t.Errorf("%+v: %d rounds for %d tokens", a, got.Report.Rounds, sub.tokens)
						}
					}
				})
			}
		}
	}
}

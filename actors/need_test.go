package actors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/metal/cpu"
)

// openLimited opens a pack on a device with a limit.
func openLimited(t *testing.T, dir string, limit int64) *bundle.Bundle {
	t.Helper()
	return housetest.OpenOn(t, dir, cpu.Options{Threads: 2, Memory: limit})
}

const (
	beside  = 64 << 20 // for the program: rows are cached in it
	answers = 1 << 19  // what the answers themselves may take
)

// TestPromisedIsEnough: with a limit that leaves room for exactly one request of a size, that request runs to its end,
// twice, and one that fills the context is refused before it begins.
func TestPromisedIsEnough(t *testing.T) {
	packs := map[string]string{"tiny": tinyPack(t), "nano": "../nano/pack"}
	for name, dir := range packs {
		for _, size := range []struct{ prompt, tokens int }{{3, 20}, {500, 30}, {1000, 100}} {
			for _, depth := range []int{0, 7} {
				t.Run(fmt.Sprintf("%s/prompt=%d/tokens=%d/depth=%d", name, size.prompt, size.tokens, depth), func(t *testing.T) {
					// Weigh the house first, without a limit.
					free := housetest.Open(t, dir, 2)
					if size.prompt+size.tokens > free.Model.Context() {
						return // not a request of this pack
					}
					c := housetest.Config(free)
					c.StopIDs = nil
					s := housetest.Start(t, c)
					loaded := s.Status().Loaded
					need := s.Need(size.prompt+size.tokens, depth > 0)
					vocab := free.Pack.Config.Vocab

					b := openLimited(t, dir, loaded+need)
					c = housetest.Config(b)
					c.StopIDs, c.Beside, c.MemoryLimit = nil, beside, loaded+need+beside+answers
					s = housetest.Start(t, c)
					rng := rand.New(rand.NewPCG(1, uint64(size.prompt)))
					request := func(tokens int) *intake.Request {
						prompt := make([]int32, size.prompt)
						for i := range prompt {
							prompt[i] = int32(rng.IntN(min(vocab, 256)))
						}
						r := housetest.Request(prompt, tokens)
						r.Depth = depth
						return r
					}
					peak := int64(0)
					for range 2 {
						a := housetest.Run(t.Context(), s, request(size.tokens), func(intake.Event) { peak = max(peak, b.Device.Used()) })
						if a.Err != nil || len(a.Tokens) != size.tokens {
							t.Fatalf("with room for just this request: got %d tokens and %v, want %d (limit %d, held %d)", len(a.Tokens), a.Err, size.tokens, loaded+need, b.Device.Used())
						}
					}
					t.Logf("needs %d, seen %d", need, peak-loaded)
					context := b.Model.Context()
					if s.Need(context, depth > 0) <= need+answers {
						return // nothing this pack takes is refused
					}
					if a := housetest.Run(t.Context(), s, request(context-size.prompt), nil); !errors.Is(a.Err, intake.ErrMemory) {
						t.Errorf("a request that fills the context: got %v, want ErrMemory", a.Err)
					}
					waitIdle(t, s)
				})
			}
		}
	}
}

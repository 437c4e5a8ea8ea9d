package actors_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
)

// TestKillsLeaveNothing: however often actors die with windows, streams and rounds in their hands, an idle house holds no more
// device memory than before. What is kept for the next requests has a bound, which the first kills have reached.
func TestKillsLeaveNothing(t *testing.T) {
	b := housetest.Open(t, tinyPack(t), 2)
	c := housetest.Config(b)
	c.StopIDs, c.Chunk, c.MaxActive = nil, 16, 4
	s := housetest.Start(t, c)
	for _, kind := range []string{"stager", "verifier", "drafter", "indexer", "sessions"} {
		storm := func(seed uint64) int64 {
			var kills atomic.Int64
			var wg sync.WaitGroup
			for worker := range 4 {
				rng := rand.New(rand.NewPCG(seed, uint64(worker)))
				wg.Go(func() {
					for kills.Load() < 40 {
						prompt := make([]int32, 20+rng.IntN(60))
						for i := range prompt {
							prompt[i] = int32(rng.IntN(256))
						}
						events := 0
						housetest.Run(context.Background(), s, housetest.Request(prompt, 30), func(intake.Event) {
							if events++; events%9 == 5 && s.Fault(kind) == nil {
								kills.Add(1)
							}
						})
					}
				})
			}
			wg.Wait()
			waitIdle(t, s)
			return b.Device.Used()
		}
		storm(1)
		before := storm(2)
		most := before
		for seed := range uint64(3) {
			most = max(most, storm(3+seed))
		}
		// A round's window is 100 KB here, a chunk's 200: three storms of 40 kills that each lost one would come to 12 MB. The rooms of the
		// verifier's three passes, which need not all have run before, come to less than 1.
		if grown := most - before; grown > 2<<20 {
			t.Errorf("kills of the %s: an idle house holds %d bytes more", kind, grown)
		}
	}
}

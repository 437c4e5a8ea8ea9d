package actors_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flashlane/flashlane/actors"
	"github.com/flashlane/flashlane/actors/housetest"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/bundle"
	"github.com/flashlane/flashlane/engine/sample"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/ple/pletest"
)

// faultyTables puts a row cache of a few rows over a table whose reads fail or come short now and then, while on.
func faultyTables(t *testing.T, b *bundle.Bundle, on *atomic.Bool) {
	t.Helper()
	var reads atomic.Int64
	for k, l := range b.Model.PLE {
		spec, err := b.Pack.NgramTable(k)
		if err != nil {
			t.Fatal(err)
		}
		for i := range spec.Shards {
			w := &spec.Shards[i].Weight
			data := make([]byte, w.Len)
			if w.Mapped() {
				copy(data, w.Data)
			} else if _, err := w.File.ReadAt(data, w.Off); err != nil {
				t.Fatal(err)
			}
			r := &pletest.Reader{Data: data,
				Fail: func(int64, int) error {
					if on.Load() && reads.Add(1)%9973 == 0 {
						return errors.New("injected I/O error")
					}
					return nil
				},
				Short: func(int64, int) bool { return on.Load() && reads.Add(1)%14983 == 0 }}
			*w = ple.Span{File: r, Len: w.Len}
		}
		table, err := ple.OpenTable(spec)
		if err != nil {
			t.Fatal(err)
		}
		if l.Cache, err = ple.NewCache(table, 64*int64(table.RowBytes()), ple.CacheOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChaos runs random requests while everything around them goes wrong; what finishes has exactly its solo bytes, and
// nothing is left behind.
func TestChaos(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	length, seed, _ := housetest.Soak(t, 4*time.Second, 20260829)
	t.Run("run", func(t *testing.T) { chaos(t, length, seed) })
}

func chaos(t *testing.T, length time.Duration, seed uint64) {
	catalogue := chaosCatalogue(seed)
	var faults atomic.Bool
	want, room := soloAnswers(t, catalogue)
	// Memory for three of the largest requests beside each other: five want to be, and snapshots want the rest.
	b := openLimited(t, tinyPack(t), room)
	faultyTables(t, b, &faults)
	c := chaosConfig(b)
	c.Beside, c.MemoryLimit = beside, room+beside
	c.CacheDir, c.CacheLimit = t.TempDir(), 1<<20
	var jump atomic.Int64 // of the clock, in seconds
	c.Clock = func() time.Time { return time.Now().Add(time.Duration(jump.Load()) * time.Second) }
	s := housetest.Start(t, c)
	used := b.Device.Used()
	faults.Store(true)

	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var tally struct{ same, cancelled, refused, failed atomic.Int64 }
	var wg sync.WaitGroup
	for worker := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(worker)))
		wg.Go(func() {
			for ctx.Err() == nil {
				i := rng.IntN(len(catalogue))
				r := catalogue[i]() // a fresh copy under a fresh id
				cut := -1
				if rng.IntN(4) == 0 {
					cut = rng.IntN(30)
				}
				slow := rng.IntN(5) == 0
				events := 0
				a := housetest.Run(context.Background(), s, r, func(intake.Event) {
					if events++; events == cut {
						s.Cancel(r.ID, "chaos")
					}
					if slow {
						time.Sleep(time.Millisecond) // a reader that does not keep up must not hold up anyone
					}
				})
				switch {
				case a.Err == nil && slices.Equal(a.IDs(), want[i]):
					tally.same.Add(1)
				case a.Err == nil:
					t.Errorf("seed %d: request %d: bytes differ: got %v, want %v", seed, i, a.IDs(), want[i])
				case errors.Is(a.Err, intake.ErrCancelled):
					tally.cancelled.Add(1)
				case errors.Is(a.Err, intake.ErrBusy):
					tally.refused.Add(1)
					time.Sleep(time.Millisecond) // as a client would, if longer
				case errors.Is(a.Err, intake.ErrCrashed), errors.Is(a.Err, intake.ErrTable):
					tally.failed.Add(1) // killed three times over with nothing gained in between
				default:
					t.Errorf("seed %d: request %d: %v", seed, i, a.Err)
				}
			}
		})
	}
	wg.Go(func() { mischief(ctx, t, s, rand.New(rand.NewPCG(seed, 99))) })
	wg.Go(func() { rot(ctx, t, c.CacheDir, &jump, rand.New(rand.NewPCG(seed, 98))) })
	wg.Wait()
	waitIdle(t, s)
	t.Logf("%d same bytes, %d cancelled, %d refused, %d failed", tally.same.Load(), tally.cancelled.Load(), tally.refused.Load(), tally.failed.Load())
	disk := s.Status().Disk
	t.Logf("disk tier: %+v", *disk)
	if disk.Saves == 0 {
		t.Errorf("seed %d: nothing was written to the disk tier", seed)
	}
	if tally.same.Load() < 10 || tally.cancelled.Load() == 0 {
		t.Errorf("seed %d: too little finished or was cancelled for the test to prove anything", seed)
	}
	if n := tally.failed.Load(); n > tally.same.Load()/10 {
		t.Errorf("seed %d: %d requests failed against %d that finished", seed, n, tally.same.Load())
	}
	if err := s.Ready(); err != nil {
		t.Errorf("seed %d: house: %v", seed, err)
	}
	if f := s.Status().Books; f.Promised != 0 {
		t.Errorf("seed %d: %d bytes are still promised", seed, f.Promised)
	}
	// Windows on their shelves and the rooms of the three passes stay for the next requests: 1.1 to 1.3 MB.
	if grown := b.Device.Used() - used; grown > 2<<20 {
		t.Errorf("seed %d: device memory: %d bytes more than before", seed, grown)
	}
}

// chaosCatalogue makes requests of all kinds, each again and again under a fresh id.
func chaosCatalogue(seed uint64) []func() *intake.Request {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []func() *intake.Request
	for range 12 {
		prompt := make([]int32, 1+rng.IntN(120))
		for i := range prompt {
			prompt[i] = int32(rng.IntN(256))
		}
		p := sample.Defaults()
		p.Seed, p.TopK, p.Repetition = rng.Uint64(), []int{0, 20}[rng.IntN(2)], []float64{1, 1.2}[rng.IntN(2)]
		if rng.IntN(3) == 0 {
			p.Temperature = 0
		}
		tokens, depth := 1+rng.IntN(60), rng.IntN(8)
		out = append(out, func() *intake.Request {
			r := housetest.Request(prompt, tokens)
			r.Sampling, r.Depth, r.Rule = p, depth, verify.Coupled
			return r
		})
	}
	return out
}

func chaosConfig(b *bundle.Bundle) actors.Config {
	c := housetest.Config(b)
	c.StopIDs, c.Chunk, c.MaxActive, c.MaxQueue = nil, 16, 5, 2
	c.PrefixCache = 2 << 20 // small: snapshots are evicted all the time
	return c
}

// soloAnswers runs each request alone in a house without limits and faults. It also returns the device memory that three
// requests of the largest size need beside each other.
func soloAnswers(t *testing.T, catalogue []func() *intake.Request) (ids [][]int32, room int64) {
	t.Helper()
	s := housetest.Start(t, chaosConfig(housetest.Open(t, tinyPack(t), 2)))
	for _, r := range catalogue {
		a := housetest.Run(t.Context(), s, r(), nil)
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		ids = append(ids, a.IDs())
		room = max(room, s.Need(len(r().Prompt)+r().MaxTokens, true))
	}
	return ids, s.Status().Loaded + 3*room + answers
}

// rot spoils the disk tier under the house until ctx ends, as a failing disk would: bytes change, the file is cut short,
// and the clock that its entries are stamped with jumps by up to a month to either side.
func rot(ctx context.Context, t *testing.T, dir string, jump *atomic.Int64, rng *rand.Rand) {
	files, err := filepath.Glob(filepath.Join(dir, "*[!m]")) // but for -shm: that is memory, no disk fails under it
	if err != nil || len(files) == 0 {
		t.Errorf("disk tier: got files %v and %v, want some", files, err)
		return
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rng.IntN(200)) * time.Millisecond):
		}
		jump.Store(rng.Int64N(60*86400) - 30*86400)
		f, err := os.OpenFile(files[rng.IntN(len(files))], os.O_RDWR, 0)
		if err != nil {
			continue // SQLite took it away
		}
		if st, err := f.Stat(); err == nil && st.Size() > 0 {
			at := rng.Int64N(st.Size())
			if rng.IntN(8) == 0 {
				_ = f.Truncate(at)
			} else {
				junk := make([]byte, 1+rng.IntN(64))
				for i := range junk {
					junk[i] = byte(rng.Uint32())
				}
				_, _ = f.WriteAt(junk, at)
			}
		}
		_ = f.Close()
	}
}

// mischief kills actors and flips lanes at random until ctx ends.
func mischief(ctx context.Context, t *testing.T, s *actors.System, rng *rand.Rand) {
	kinds := []string{"drafter", "verifier", "stager", "indexer", "intake", "lanes", "sessions", "session"}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rng.IntN(40)) * time.Millisecond):
		}
		switch rng.IntN(3) {
		case 0:
			_ = s.Fault(kinds[rng.IntN(len(kinds))]) // there may be no session now
		default:
			l := lanes.All()[rng.IntN(2)]
			ask, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			if _, err := s.SetLane(ask, l.String(), rng.IntN(2) == 0); err != nil && ctx.Err() == nil {
				var injected interface{ Unwrap() error }
				if !errors.As(err, &injected) {
					t.Errorf("set lane: %v", err)
				}
			}
			cancel()
		}
	}
}

package cpu

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRunCovers checks that every index is covered once and no piece but the last is below the grain.
func TestRunCovers(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		w := newWorkers(threads)
		for _, n := range []int{0, 1, 2, 7, 8, 9, 63, 64, 65, 1000} {
			for _, grain := range []int{1, 2, 5, 64, 2000} {
				hits := make([]atomic.Int32, n)
				var short, calls atomic.Int32
				cover := func(lo, hi int) {
					calls.Add(1)
					if hi-lo < grain && hi < n {
						short.Add(1)
					}
					for i := lo; i < hi; i++ {
						hits[i].Add(1)
					}
				}
				w.run(n, grain, cover)
				var used [8]atomic.Int32
				w.runID(n, grain, func(worker, lo, hi int) {
					if used[worker].Add(1) != 1 {
						t.Errorf("worker %d is used by two calls at once", worker)
					}
					cover(lo, hi)
					used[worker].Add(-1)
				})
				for i := range hits {
					if got := hits[i].Load(); got != 2 {
						t.Fatalf("threads %d, n %d, grain %d: index %d covered %d times, want 2", threads, n, grain, i, got)
					}
				}
				if short.Load() != 0 {
					t.Errorf("threads %d, n %d, grain %d: %d pieces are below the grain", threads, n, grain, short.Load())
				}
				if n > 0 && n <= grain && calls.Load() != 2 {
					t.Errorf("threads %d, n %d, grain %d: got %d calls, want 1 a run", threads, n, grain, calls.Load())
				}
			}
		}
		w.close()
		w.close()
	}
}

// TestRunHelps holds every piece until all threads are inside one: it ends only if the helpers really take part, which
// they must also after they have parked.
func TestRunHelps(t *testing.T) {
	const threads = 4
	w := newWorkers(threads)
	defer w.close()
	for range 20 {
		var inside sync.WaitGroup
		inside.Add(threads)
		w.run(threads, 1, func(lo, hi int) {
			for range hi - lo {
				inside.Done()
			}
			inside.Wait()
		})
		for w.parked.Load() < threads-1 { // let them park
			runtime.Gosched()
		}
	}
}

// TestRunOneProc runs under GOMAXPROCS=1, where a spinning helper could starve its caller, and the caller a helper.
func TestRunOneProc(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := newWorkers(4)
	defer w.close()
	var sum atomic.Int64
	for range 300 {
		w.run(64, 1, func(lo, hi int) {
			sum.Add(int64(hi - lo))
			runtime.Gosched()
		})
	}
	if got := sum.Load(); got != 300*64 {
		t.Errorf("got %d, want %d", got, 300*64)
	}
}

// TestRunBusy has many callers at once, and calls inside calls: those that find the pool taken work alone.
func TestRunBusy(t *testing.T) {
	w := newWorkers(3)
	defer w.close()
	var sum atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 200 {
				w.run(8, 1, func(lo, hi int) {
					w.run(hi-lo, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
				})
			}
		})
	}
	wg.Wait()
	if got := sum.Load(); got != 6*200*8 {
		t.Errorf("got %d, want %d", got, 6*200*8)
	}
}

func TestRunAfterClose(t *testing.T) {
	w := newWorkers(2)
	w.close()
	sum := 0
	w.run(10, 1, func(lo, hi int) { sum += hi - lo })
	if sum != 10 {
		t.Errorf("got %d, want 10", sum)
	}
}

// panicky panics on every thread but the caller's, whose piece waits until that has happened.
func TestRunPanicInHelper(t *testing.T) {
	w := newWorkers(2)
	defer w.close()
	for range 10 {
		func() {
			caller := make(chan struct{})
			defer func() {
				var e *PanicError
				err, _ := recover().(error)
				if !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("got %v, want a PanicError of io.ErrUnexpectedEOF", err)
				}
				if !strings.Contains(err.Error(), "brokenPiece") {
					t.Errorf("the stack does not show where it happened:\n%v", err)
				}
			}()
			w.runID(2, 1, func(worker, lo, hi int) {
				if worker == 0 {
					<-caller
					return
				}
				defer close(caller)
				brokenPiece()
			})
		}()
		ok := false
		w.run(1, 1, func(lo, hi int) { ok = true })
		if !ok {
			t.Fatal("the pool does not work after a panic")
		}
	}
}

//go:noinline
func brokenPiece() { panic(fmt.Errorf("piece: %w", io.ErrUnexpectedEOF)) }

// TestRunPanicInCaller checks that the caller's own panic leaves no helper in the job and the pool free.
func TestRunPanicInCaller(t *testing.T) {
	w := newWorkers(2)
	defer w.close()
	var after atomic.Int32
	func() {
		defer func() {
			if got := recover(); got != "mine" {
				t.Errorf("got %v, want mine", got)
			}
		}()
		w.runID(64, 1, func(worker, lo, hi int) {
			if worker == 0 {
				panic("mine")
			}
			after.Add(1)
		})
	}()
	n := after.Load()
	var sum atomic.Int64
	w.run(64, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
	if sum.Load() != 64 || after.Load() != n {
		t.Errorf("got %d covered, want 64; %d pieces of the lost job ran late", sum.Load(), after.Load()-n)
	}
	if !w.mu.TryLock() {
		t.Error("the pool is still taken")
	} else {
		w.mu.Unlock()
	}
}

// TestRunStages checks that every unit of every stage is covered once and that no stage begins before the one before it
// has ended, also when many callers compete.
func TestRunStages(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		w := newWorkers(threads)
		stages := []stage{{n: 7, grain: 1}, {}, {n: 64, grain: 5}, {n: 9, grain: 1, even: true}}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 300 {
					var hits [4][64]atomic.Int32
					var left [4]atomic.Int32
					for i, st := range stages {
						left[i].Store(int32(st.n))
					}
					w.runStages(stages, func(worker, stage, lo, hi int) {
						for before := range stage {
							if n := left[before].Load(); n != 0 {
								t.Errorf("threads %d: stage %d began with %d units of stage %d left", threads, stage, n, before)
							}
						}
						for i := lo; i < hi; i++ {
							hits[stage][i].Add(1)
						}
						left[stage].Add(int32(lo - hi))
					})
					for i, st := range stages {
						for u := range st.n {
							if got := hits[i][u].Load(); got != 1 {
								t.Errorf("threads %d: unit %d of stage %d covered %d times, want 1", threads, u, i, got)
							}
						}
					}
				}
			})
		}
		wg.Wait()
		w.close()
	}
}

// TestRunStagesPanic loses a piece of the first stage on either thread: nobody waits for the second.
func TestRunStagesPanic(t *testing.T) {
	for bad := range 2 {
		w := newWorkers(2)
		for range 20 {
			func() {
				var inside sync.WaitGroup
				inside.Add(2)
				defer func() {
					if recover() == nil {
						t.Error("got no panic")
					}
				}()
				w.runStages([]stage{{n: 2, grain: 1}, {n: 2, grain: 1}}, func(worker, stage, lo, hi int) {
					if stage == 1 {
						t.Error("the second stage began")
						return
					}
					inside.Done()
					inside.Wait() // one piece on each thread
					if worker == bad {
						panic("lost")
					}
				})
			}()
			sum := atomic.Int64{}
			w.run(64, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
			if sum.Load() != 64 {
				t.Fatalf("after a panic: got %d units covered, want 64", sum.Load())
			}
		}
		w.close()
	}
}

func TestRunAllocs(t *testing.T) {
	w := newWorkers(2)
	defer w.close()
	fn := func(worker, lo, hi int) {}
	plain := func(lo, hi int) {}
	staged, stages := func(worker, stage, lo, hi int) {}, []stage{{n: 8, grain: 1}, {n: 4, grain: 1}}
	if got := testing.AllocsPerRun(100, func() { w.runID(8, 1, fn); w.run(8, 1, plain); w.runStages(stages, staged) }); got != 0 {
		t.Errorf("got %g allocations, want 0", got)
	}
}

// BenchmarkFork is the cost of a fork-join with nothing to do, beside a plain call.
func BenchmarkFork(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			w := newWorkers(threads)
			defer w.close()
			fn := func(worker, lo, hi int) {}
			for b.Loop() {
				w.runID(2, 1, fn)
			}
		})
	}
	// Four stages of two pieces each.
	b.Run("stages=4", func(b *testing.B) {
		w := newWorkers(2)
		defer w.close()
		stages, fn := []stage{{n: 2, grain: 1}, {n: 2, grain: 1}, {n: 2, grain: 1}, {n: 2, grain: 1}}, func(worker, stage, lo, hi int) {}
		for b.Loop() {
			w.runStages(stages, fn)
		}
	})
	// Two pieces, one for each thread: the whole handover and return.
	b.Run("handover", func(b *testing.B) {
		w := newWorkers(2)
		defer w.close()
		var at [2]atomic.Int64
		n := int64(0)
		fn := func(worker, lo, hi int) {
			at[lo].Store(n)
			for at[1-lo].Load() != n {
				pause()
			}
		}
		for b.Loop() {
			n++
			w.runID(2, 1, fn)
		}
	})
}

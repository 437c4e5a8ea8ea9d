package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// workers is the device's pool: threads-1 helper goroutines that join the caller of run, one fork-join at a time.
//
// A job is one word, turn: how many pieces it has, how many are taken and how many finished. The caller writes the word with the first piece
// taken; whoever sees a piece left takes it by changing the word, and so knows that the job stays what it is until that piece is
// finished. Nobody enters a job or leaves it: a helper that is slow to wake costs the caller nothing, it finds no piece left and
// waits for the next job, which it sees in the same word. After a job helpers spin for a while, since ops follow each other
// closely, then park.
type workers struct {
	threads int
	mu      sync.Mutex // held by the caller that owns the helpers

	// Written by the owner while no piece is taken.
	fn      func(lo, hi int)                // of run,
	fnID    func(worker, lo, hi int)        // of runID,
	fnStage func(worker, stage, lo, hi int) // or of runStages
	cuts    [maxStages]cut
	pieces  int // of all stages

	_      [64]byte // the words below are contended: keep them off the line of the fields above, and apart
	turn   atomic.Uint64
	_      [56]byte
	broken atomic.Bool // a piece was lost to a panic: those after it are not done

	parked atomic.Int32
	wake   chan struct{} // one token per helper to be woken
	failed atomic.Pointer[PanicError]
	ended  atomic.Bool
	once   sync.Once
	wg     sync.WaitGroup
}

// The fields of turn, each of countBits bits: pieces in all, taken, finished. Whoever finishes a piece takes the next one by the same write, so at
// the end of a job as many as there are threads have been taken too many.
const (
	countBits = 21
	countMask = 1<<countBits - 1
	one       = 1 << countBits // taken
	finished  = 1 << (2 * countBits)
	maxPieces = 1 << 20
)

func piecesOf(turn uint64) uint64   { return turn & countMask }
func takenOf(turn uint64) uint64    { return turn >> countBits & countMask }
func finishedOf(turn uint64) uint64 { return turn >> (2 * countBits) }

const (
	// A helper looks for work for about spinFor before it parks: a woken thread comes 50 us late. It lets other goroutines run
	// first after spinYield looks, some 5 us: sooner costs more than it gives, since a helper that is in the scheduler when work comes is late by a
	// microsecond, in an op that takes three. By then the pass has ended, and it is others who wait for the processor: from there on it
	// does so every idleYield looks.
	spinFor   = 300 * time.Microsecond
	spinYield = 256
	idleYield = 16

	// A wait for another thread's piece sleeps every sleepAfter looks, some 50 us.
	sleepAfter = 2560

	// Pieces per thread: enough to even out threads of unequal speed, few enough to keep the counter cool.
	piecesPerThread = 4

	// The same for a job of several stages: each further piece costs a cache line's way to the other core and back.
	stagePieces = 1

	maxStages = 4
)

// stage is one step of a job: n units of work, in pieces of at least grain units, or exactly that if even. Units of unlike
// size are cut finer if uneven.
type stage struct {
	n, grain     int
	even, uneven bool
}

// size is the units of a piece among so many threads.
func (st stage) size(threads int) int {
	if st.even {
		return st.grain
	}
	pieces := threads * stagePieces
	if st.uneven {
		pieces *= piecesPerThread
	}
	return max(st.grain, 1, (st.n+pieces-1)/pieces)
}

// cut is how a stage is cut: pieces from..end-1 of the job, each of size units, the last one with the remainder.
type cut struct{ from, end, size, n int }

// set cuts n units into pieces that follow piece from.
func (c *cut) set(from, n, size int) {
	*c = cut{from: from, end: from + max(n/size, min(n, 1)), size: size, n: n}
}

// units is the range of a piece.
func (c *cut) units(piece int) (lo, hi int) {
	lo = (piece - c.from) * c.size
	if piece == c.end-1 {
		return lo, c.n
	}
	return lo, lo + c.size
}

// PanicError carries a panic out of a helper goroutine to the caller of the op, where it is panicked again.
type PanicError struct {
	Value any
	Stack []byte // of the helper, at the panic
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("cpu: panic in a worker: %v\n\nworker's stack:\n%s", e.Value, e.Stack)
}

// Unwrap is the panic's value if that was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func newWorkers(threads int) *workers {
	w := &workers{threads: threads, wake: make(chan struct{}, threads)}
	for id := 1; id < threads; id++ {
		w.wg.Go(func() { w.help(id) })
	}
	return w
}

// close ends the helpers and waits for them. Ops that run later run on their caller alone.
func (w *workers) close() {
	w.once.Do(func() {
		w.mu.Lock() // for good: no later run can own the helpers
		w.ended.Store(true)
		close(w.wake)
		w.wg.Wait()
	})
}

// take owns the helpers, if nobody else does and they are still there.
func (w *workers) take() bool { return w.mu.TryLock() }

// run covers [0, n) with calls of fn on disjoint ranges. No range but the last is smaller than grain.
func (w *workers) run(n, grain int, fn func(lo, hi int)) {
	if n <= 0 {
		return
	}
	if n <= grain || w.threads == 1 || !w.take() {
		fn(0, n)
		return
	}
	w.fn = fn
	w.forkOne(n, grain)
}

// runID is run for functions that keep scratch per thread: worker is below threads, and no two calls that run at the
// same time for one runID share it. The caller's own is 0. It allocates nothing.
func (w *workers) runID(n, grain int, fn func(worker, lo, hi int)) {
	if n <= 0 {
		return
	}
	if n <= grain || w.threads == 1 || !w.take() {
		fn(0, 0, n)
		return
	}
	w.fnID = fn
	w.forkOne(n, grain)
}

// runStages is runID for a job of several stages in one fork-join: fn is called for a stage when all calls of the stages
// before it have returned. A thread that comes late joins at the stage the job is in.
func (w *workers) runStages(stages []stage, fn func(worker, stage, lo, hi int)) {
	if w.threads == 1 || !w.take() {
		runAlone(stages, fn)
		return
	}
	w.fnStage, w.pieces = fn, 0
	for i, st := range stages {
		w.cuts[i].set(w.pieces, st.n, max(st.size(w.threads), 1))
		w.pieces = w.cuts[i].end
	}
	if w.pieces == 0 || w.pieces > maxPieces {
		w.fnStage = nil
		w.mu.Unlock()
		runAlone(stages, fn)
		return
	}
	w.fork()
}

func runAlone(stages []stage, fn func(worker, stage, lo, hi int)) {
	for i, st := range stages {
		if st.n > 0 {
			fn(0, i, 0, st.n)
		}
	}
}

func (w *workers) forkOne(n, grain int) {
	w.cuts[0].set(0, n, max(grain, 1, n/(w.threads*piecesPerThread)))
	w.pieces = w.cuts[0].end
	w.fork()
}

// fork runs the job that is set up; the caller holds mu, which fork gives back.
func (w *workers) fork() {
	w.turn.Store(uint64(w.pieces) | one) // the first piece is the caller's
	whole := false
	defer func() {
		if !whole {
			w.lose()
		}
		w.join()
	}()
	// Parked helpers are woken only if there is a piece for each: waking is slow, and they may come too late anyway.
	for p := min(int(w.parked.Load()), w.pieces-1); p > 0; p-- {
		select {
		case w.wake <- struct{}{}:
		default:
			p = 0
		}
	}
	w.work(0, 0)
	whole = true
}

// work does piece i, which is taken, and further ones until none is left.
func (w *workers) work(worker, i int) {
	for stage := 0; ; {
		for i >= w.cuts[stage].end {
			stage++
		}
		lo, hi := w.cuts[stage].units(i)
		switch {
		case w.fnStage != nil:
			if w.reached(uint64(w.cuts[stage].from)) {
				w.fnStage(worker, stage, lo, hi)
			}
		case w.fnID != nil:
			w.fnID(worker, lo, hi)
		default:
			w.fn(lo, hi)
		}
		t := w.turn.Add(finished + one)
		if takenOf(t) > piecesOf(t) {
			return
		}
		i = int(takenOf(t)) - 1
	}
}

// reached waits until all pieces below from are finished, which is when that many are: none of a later stage begins
// before. It reports false if that will never be.
func (w *workers) reached(from uint64) bool {
	if from == 0 {
		return true
	}
	for spins := 1; finishedOf(w.turn.Load()) < from; spins++ {
		if w.broken.Load() {
			return false
		}
		relax(spins)
	}
	return !w.broken.Load() // a lost piece counts as finished, after it is known to be lost
}

// lose gives up the piece that the caller of lose is in, and those that nobody has taken.
func (w *workers) lose() {
	w.broken.Store(true)
	for {
		t := w.turn.Load()
		if taken := takenOf(t); taken >= piecesOf(t) || w.turn.CompareAndSwap(t, t&^countMask|taken) {
			break
		}
	}
	w.turn.Add(finished)
}

// join waits until all pieces that were taken are finished and gives the pool back. It also runs when fn panics on the caller. A helper that
// has finished its last piece touches nothing of the job any more.
func (w *workers) join() {
	for spins := 1; ; spins++ {
		if t := w.turn.Load(); finishedOf(t) >= piecesOf(t) {
			break
		}
		relax(spins)
	}
	w.fn, w.fnID, w.fnStage = nil, nil, nil
	var failed *PanicError
	if w.broken.Load() {
		w.broken.Store(false)
		failed = w.failed.Swap(nil)
	}
	w.mu.Unlock()
	if failed != nil {
		panic(failed)
	}
}

// relax is the body of a loop that waits for a thread known to be at work. If that takes long the thread has probably
// lost its core to another process, perhaps to us: sleeping gives it back.
func relax(spins int) {
	switch {
	case spins%sleepAfter == 0:
		time.Sleep(20 * time.Microsecond)
	case spins%spinYield == 0:
		runtime.Gosched()
	default:
		pause()
	}
}

// help is a helper's life.
func (w *workers) help(worker int) {
	var idle time.Time
	for spins := 1; !w.ended.Load(); spins++ {
		t := w.turn.Load()
		switch {
		case takenOf(t) < piecesOf(t):
			if w.turn.CompareAndSwap(t, t+one) {
				w.assist(worker, int(takenOf(t)))
				spins = 0
			}
		case spins < spinYield || spins%idleYield != 0:
			pause()
		case spins == spinYield:
			idle = time.Now()
			runtime.Gosched()
		case time.Since(idle) < spinFor:
			runtime.Gosched()
		default:
			w.park()
			spins = 0
		}
	}
}

// assist does a helper's part of the job, from the piece that it has taken, whatever happens.
func (w *workers) assist(worker, piece int) {
	whole := false
	defer func() {
		if whole {
			return
		}
		w.failed.CompareAndSwap(nil, &PanicError{Value: recover(), Stack: debug.Stack()})
		w.lose()
	}()
	w.work(worker, piece)
	whole = true
}

// park sleeps until a caller or close sends a token. A job opened between the last look and the count is seen by the
// second look; a token that arrives for a helper that did not sleep makes a later park return at once, which is harmless.
func (w *workers) park() {
	w.parked.Add(1)
	if t := w.turn.Load(); takenOf(t) >= piecesOf(t) && !w.ended.Load() {
		<-w.wake
	}
	w.parked.Add(-1)
}

package worker

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Job is a unit of device work. Run does it; if Run panics, Broken is called with the value and the stack, on the worker.
type Job struct {
	Run    func()
	Broken func(value any, stack []byte)
}

// Worker runs jobs one at a time in the order they came. Do never blocks.
type Worker struct {
	mu     sync.Mutex
	more   *sync.Cond
	queue  []Job
	closed bool
	done   chan struct{}
	lock   bool

	running atomic.Bool
	ended   atomic.Uint64
	breath  breath
}

// Running reports whether a job runs now.
func (w *Worker) Running() bool { return w.running.Load() }

// Ended is how many jobs have ended, for a watchdog.
func (w *Worker) Ended() uint64 { return w.ended.Load() }

// Start returns a running worker. With lock it stays on one OS thread, as a GPU context needs.
func Start(lock bool) *Worker { return start(&Worker{lock: lock}) }

// StartBreathing is Start for a worker whose jobs breathe; it keeps two files open.
func StartBreathing(lock bool) *Worker {
	w := &Worker{lock: lock}
	w.breath.open()
	return start(w)
}

func start(w *Worker) *Worker {
	w.done, w.more = make(chan struct{}), sync.NewCond(&w.mu)
	go w.loop()
	return w
}

// Do queues a job. After Stop it is dropped and Do reports false.
func (w *Worker) Do(j Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, j)
	w.more.Signal()
	return true
}

// Yield lets others that wait for the processor go first. Called by jobs: a pass keeps its processor until it ends, and whatever became
// ready on it just before would wait that long, beside a processor whose only work is to look for some. The job itself goes on there. A worker
// that is bound to its thread would have to be moved by the kernel: it keeps its place.
func (w *Worker) Yield() {
	if !w.lock {
		runtime.Gosched()
	}
}

// Breathe is Yield for a job that follows others without a pause on every processor: now and then it lets the network in, too.
func (w *Worker) Breathe() {
	w.Yield()
	if !w.lock {
		w.breath.take()
	}
}

// Stop ends the worker after the jobs already queued and waits for it.
func (w *Worker) Stop() {
	w.mu.Lock()
	w.closed = true
	w.more.Signal()
	w.mu.Unlock()
	<-w.done
}

func (w *Worker) loop() {
	defer close(w.done)
	defer w.breath.end()
	if w.lock {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		w.running.Store(true)
		run(j)
		w.running.Store(false)
		w.ended.Add(1)
	}
}

func (w *Worker) next() (Job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 {
		if w.closed {
			return Job{}, false
		}
		w.more.Wait()
	}
	j := w.queue[0]
	w.queue[0] = Job{}
	w.queue = w.queue[1:]
	if len(w.queue) == 0 {
		w.queue = nil
	}
	return j, true
}

func run(j Job) {
	defer func() {
		if v := recover(); v != nil {
			j.Broken(v, debug.Stack())
		}
	}()
	j.Run()
}

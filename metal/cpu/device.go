package cpu

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/flashlane/flashlane/metal"
)

// ErrKernels is returned (wrapped) by New when the kernel set asked for is unknown or this machine cannot run it.
var ErrKernels = errors.New("cpu: kernel set not available")

var (
	_ metal.Device   = (*Device)(nil)
	_ metal.Relieved = (*Device)(nil)
	_ metal.Hosted   = (*Device)(nil)
	_ metal.Holder   = (*Device)(nil)

	_ metal.Divisible = (*Device)(nil)
)

// Device is the host's processor as a metal.Device. It is safe for concurrent use.
type Device struct {
	workers *workers
	mu      sync.Mutex
	teams   []*workers // of streams that have threads of their own
	kernels *kernelSet
	buffers arena
	spare   spare // of buffers
	weights arena
	used    atomic.Int64
	full    atomic.Pointer[func(bytes int64) int64]
	beside  atomic.Int64
	limit   int64 // bytes Alloc and Load may hold together with beside, 0: no limit known
	info    metal.Info
}

// Options of a CPU device.
type Options struct {
	Threads   int       // host threads an op may use; 0 means the cores of the machine
	Kernels   string    // kernel set: "avx512", "avx2" (amd64), "dotprod", "neon" (arm64) or "go"; empty means the best one this machine runs. Bits are the same.
	Precision Precision // of products; Exact by default
	Memory    int64     // bytes buffers and weights may hold together; 0 means what the machine has
}

// New opens the CPU device. Errors: a negative option; ErrKernels.
func New(o Options) (*Device, error) {
	if o.Threads < 0 {
		return nil, fmt.Errorf("cpu: threads: got %d, want 0 (all cores) or more", o.Threads)
	}
	if o.Memory < 0 {
		return nil, fmt.Errorf("cpu: memory: got %d bytes, want 0 (all the machine has) or more", o.Memory)
	}
	ks, err := pickKernels(o.Kernels)
	if err != nil {
		return nil, err
	}
	if o.Precision > Fast {
		return nil, fmt.Errorf("cpu: precision: got %d, want %d (exact) or %d (fast)", o.Precision, Exact, Fast)
	}
	if o.Precision == Fast {
		ks.makeFast()
	}
	if o.Threads == 0 {
		o.Threads = runtime.NumCPU()
	}
	total := memTotal()
	d := &Device{workers: newWorkers(o.Threads), kernels: ks, weights: arena{huge: true}, limit: o.Memory}
	if d.limit == 0 {
		d.limit = total
	}
	d.info = metal.Info{Kind: o.Precision.kind(), Precision: o.Precision.String(), Name: cpuName(), Kernels: ks.name, Threads: o.Threads,
		MemTotal: total}
	return d, nil
}

// pickKernels returns the set of that name, or the best one if name is empty.
func pickKernels(name string) (*kernelSet, error) {
	sets := kernelSets()
	if name == "" {
		return sets[0], nil
	}
	have := make([]string, len(sets))
	for i, s := range sets {
		if s.name == name {
			return s, nil
		}
		have[i] = s.name
	}
	return nil, fmt.Errorf("%w: got %q, this machine runs %q", ErrKernels, name, have)
}

// Info describes the device.
func (d *Device) Info() metal.Info { return d.info }

// Alloc returns n zeroed elements of host memory, with their pages behind them, or an error wrapping metal.ErrMemory.
func (d *Device) Alloc(t metal.DType, n int) (metal.Buffer, error) {
	if n < 0 || n > 1<<60 {
		return nil, fmt.Errorf("cpu: alloc: got %d elements, want 0..2^60: %w", n, metal.ErrMemory)
	}
	if err := d.take(int64(n) * 4); err != nil {
		return nil, fmt.Errorf("cpu: alloc %d elements: %w", n, err)
	}
	b, ok := newBuffer(d, t, n)
	if !ok {
		d.used.Add(-int64(n) * 4)
		return nil, fmt.Errorf("cpu: alloc %d elements: %w: the system gives no more pages", n, metal.ErrMemory)
	}
	return b, nil
}

// OnFull implements metal.Relieved.
func (d *Device) OnFull(free func(bytes int64) int64) { d.full.Store(&free) }

// take books bytes, or says why not.
func (d *Device) take(bytes int64) error {
	used := d.used.Add(bytes)
	if d.limit == 0 {
		return nil
	}
	beside := d.beside.Load()
	limit := d.limit - beside
	if used > limit && bytes <= limit {
		if free := d.full.Load(); free != nil {
			d.used.Add(-bytes)
			(*free)(used - limit)
			used = d.used.Add(bytes)
		}
	}
	if used > limit || bytes > limit {
		d.used.Add(-bytes)
		return fmt.Errorf("%w: got %d bytes more on top of %d in use and %d kept for the program, want %d or less together; free some or raise the limit",
			metal.ErrMemory, bytes, used-bytes, beside, d.limit)
	}
	return nil
}

// Hold implements metal.Holder.
func (d *Device) Hold(bytes int64) ([]byte, func(), error) {
	if err := d.take(bytes); err != nil {
		return nil, nil, err
	}
	b, ok := d.weights.take(int(bytes))
	if !ok {
		d.used.Add(-bytes)
		return nil, nil, fmt.Errorf("%w: the system gives no more pages", metal.ErrMemory)
	}
	return b, func() {
		d.weights.give(b)
		d.used.Add(-bytes)
	}, nil
}

// Beside implements metal.Hosted.
func (d *Device) Beside(bytes int64) { d.beside.Store(bytes) }

// Limit implements metal.Hosted.
func (d *Device) Limit() int64 { return d.limit }

// Used is the number of bytes held by buffers and weights, and by Hold.
func (d *Device) Used() int64 { return d.used.Load() }

// NewStream returns an op queue; ops run at once.
func (d *Device) NewStream() metal.Stream { return newStream(d) }

// Divide implements metal.Divisible.
func (d *Device) Divide(n int) []metal.Stream {
	out := make([]metal.Stream, n)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range out {
		w := newWorkers(max(d.workers.threads/n, 1))
		d.teams = append(d.teams, w)
		out[i] = newStreamOn(d, w)
	}
	return out
}

// Close ends the workers and unmaps all memory: no buffer and no weight may be used afterwards.
func (d *Device) Close() error {
	d.workers.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.teams {
		w.close()
	}
	d.buffers.close()
	d.weights.close()
	return nil
}

// stream runs ops at once on the calling goroutine.
type stream struct {
	dev     *Device
	workers *workers // the device's, or of its own
	desk    []desk   // per thread of an op
	lin     linearCall
	exp     expertsCall
	lins    linearsCall
	mix     mixCall
	net     deltaNetCall
	moe     moeCall
	turn    uint64 // fused blocks run so far
	sides   [maxStages]sides
}

func newStream(d *Device) *stream { return newStreamOn(d, d.workers) }

func newStreamOn(d *Device, w *workers) *stream {
	s := &stream{dev: d, workers: w, desk: make([]desk, w.threads)}
	s.lin.fn = s.linearUnits
	s.exp.innerFn = s.expertsInner
	s.exp.outerFn = s.expertsOuter
	s.lins.fn = s.linearsUnits
	s.mix.fn = s.mixUnits
	s.mix.together = func() { s.workers.runStages(s.mix.stages[:3], s.mix.fn) }
	s.mix.alone = func() { runAlone(s.mix.stages[:3], s.mix.fn) }
	s.net.fn = s.deltaNetUnits
	s.moe.fn = s.moeUnits
	return s
}

// parallel calls fn over disjoint ranges that cover [0, n), on the calling goroutine and the device's workers.
// No range but the last is smaller than grain. fn must not depend on how the range is cut.
func (s *stream) parallel(n, grain int, fn func(lo, hi int)) {
	s.workers.run(n, grain, fn)
}

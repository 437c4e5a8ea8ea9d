package ops

import (
	"math"
	"runtime"
	"sync"
	"time"
)

// Roofs are what this machine can do at best, measured. The best of many short runs counts: on a shared machine all others
// are the neighbours'.
type Roofs struct {
	Threads  int     `json:"threads"`
	Triad    float64 `json:"triad_gb_s"`     // a[i] = b[i] + s*c[i] far beyond the caches; 24 bytes per element counted
	Read     float64 `json:"read_gb_s"`      // reading ReadSize bytes over and over
	ReadSize int64   `json:"read_bytes"`     // as large as the weights: caches that hold them count
	Peak     float64 `json:"peak_gflop_s"`   // multiply-adds in registers, two operations each
	Kind     string  `json:"peak_kind"`      // what vectors
	OneRead  float64 `json:"read_gb_s_one"`  // the same with one thread
	OnePeak  float64 `json:"peak_gflop_one"` // the same with one thread
}

// Bandwidth is the roof in bytes per second: the better of triad and read.
func (r Roofs) Bandwidth() float64 { return 1e9 * max(r.Triad, r.Read) }

// Seconds is the least time for work: what takes longer, moving the bytes or the operations.
func (r Roofs) Seconds(bytes, flops float64) float64 {
	return max(bytes/r.Bandwidth(), flops/(1e9*r.Peak))
}

// probe is how a machine is driven to its limits.
type probe struct {
	kind  string
	flops float64        // per iteration of fma
	fma   func(n int)    // n iterations
	read  func([]uint64) // loads all of it, a multiple of 64 words
}

const triadWords = 8 << 20 // 64 MiB each, beyond the caches of most machines

// MeasureRoofs takes about two seconds and 3*64 MiB + size bytes of memory. threads 0 are all cores.
func MeasureRoofs(threads int, size int64) Roofs {
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	p := probes()
	words := max(int(size/8)/64*64, 64*threads)
	r := Roofs{Threads: threads, ReadSize: int64(words) * 8, Kind: p.kind}
	r.Peak, r.OnePeak = p.peak(threads), p.peak(1)
	buf := make([]uint64, words)
	for i := range buf {
		buf[i] = uint64(i) // so that every page is there
	}
	r.Read, r.OneRead = p.sweep(threads, buf), p.sweep(1, buf)
	r.Triad = triad(threads)
	return r
}

// trying is how long each limit is tried for.
const trying = 400 * time.Millisecond

// best runs fn in parallel, over and over, and returns the shortest time of all threads together.
func best(threads int, fn func(thread int)) float64 {
	least := math.Inf(1)
	for end := time.Now().Add(trying); time.Now().Before(end); {
		var all sync.WaitGroup
		begin := time.Now()
		for t := range threads {
			all.Go(func() { fn(t) })
		}
		all.Wait()
		least = min(least, time.Since(begin).Seconds())
	}
	return least
}

func (p probe) peak(threads int) float64 {
	const n = 100_000
	p.fma(n / 10) // wake the wide units
	return float64(threads) * n * p.flops / best(threads, func(int) { p.fma(n) }) / 1e9
}

func (p probe) sweep(threads int, buf []uint64) float64 {
	part := len(buf) / threads / 64 * 64
	times := max(1, (32<<20)/(len(buf)*8)) // at least 32 MiB per run, or the start of threads would count
	took := best(threads, func(t int) {
		for range times {
			p.read(buf[t*part : (t+1)*part])
		}
	})
	return float64(part*threads*8*times) / took / 1e9
}

func triad(threads int) float64 {
	a, b, c := make([]float64, triadWords), make([]float64, triadWords), make([]float64, triadWords)
	for i := range a {
		a[i], b[i], c[i] = 1, 2, 3
	}
	part := triadWords / threads
	took := best(threads, func(t int) {
		x, y, z := a[t*part:(t+1)*part], b[t*part:(t+1)*part], c[t*part:(t+1)*part]
		for i := range x {
			x[i] = y[i] + 3*z[i]
		}
	})
	return float64(part*threads*24) / took / 1e9
}

// scalar is a probe in Go.
func scalar() probe {
	return probe{kind: "scalar f64", flops: 8 * 2, read: func(b []uint64) {
		var s0, s1, s2, s3 uint64
		for i := 0; i+4 <= len(b); i += 4 {
			s0, s1, s2, s3 = s0+b[i], s1+b[i+1], s2+b[i+2], s3+b[i+3]
		}
		keep(float64(s0 + s1 + s2 + s3))
	}, fma: func(n int) {
		var x [8]float64
		for range n {
			x[0], x[1], x[2], x[3] = math.FMA(x[0], 0.5, 1), math.FMA(x[1], 0.5, 1), math.FMA(x[2], 0.5, 1), math.FMA(x[3], 0.5, 1)
			x[4], x[5], x[6], x[7] = math.FMA(x[4], 0.5, 1), math.FMA(x[5], 0.5, 1), math.FMA(x[6], 0.5, 1), math.FMA(x[7], 0.5, 1)
		}
		keep(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7])
	}}
}

// keep stands for a use of v, so that the compiler cannot leave its computation out.
//
//go:noinline
func keep(v float64) float64 { return v }

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/flashlane/flashlane/engine/pack/mlx"
)

// runJobs shares the jobs of a pack that is being written out over the cores, with a progress bar. The first error stops
// them all.
func runJobs(ctx context.Context, jobs []mlx.Job) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var total int64
	for _, j := range jobs {
		total += j.Bytes
	}
	bar := newBar(total, "writing")
	var wg sync.WaitGroup
	next := make(chan *mlx.Job)
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			for j := range next {
				if err := j.Run(ctx, bar.add); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- &jobs[i]
	}
	close(next)
	wg.Wait()
	bar.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// bar is a progress bar on standard error, if that is a terminal; else nothing.
type bar struct {
	shown *progressbar.ProgressBar
}

func newBar(bytes int64, what string) bar {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return bar{}
	}
	return bar{progressbar.NewOptions64(bytes, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(), progressbar.OptionThrottle(100e6))}
}

// add moves it on; it may be called by several goroutines.
func (b bar) add(bytes int64) {
	if b.shown != nil {
		_ = b.shown.Add64(bytes) // a terminal that is gone is no reason to stop
	}
}

func (b bar) close() {
	if b.shown != nil {
		_ = b.shown.Close()
		fmt.Fprintln(os.Stderr)
	}
}

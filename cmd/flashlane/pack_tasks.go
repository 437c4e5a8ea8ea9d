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

// taskFunc is a piece of work that tells of bytes as it handles them.
type taskFunc = func(ctx context.Context, progress func(bytes int64)) error

// task is one, and the bytes it will handle.
type task struct {
	bytes int64
	run   taskFunc
}

// tasksOf makes tasks of a package's jobs.
func tasksOf[J any](jobs []J, each func(*J) (int64, taskFunc)) []task {
	tasks := make([]task, len(jobs))
	for i := range jobs {
		tasks[i].bytes, tasks[i].run = each(&jobs[i])
	}
	return tasks
}

// writeJobs runs the jobs of a pack that is being written.
func writeJobs(ctx context.Context, jobs []mlx.Job) error {
	return runTasks(ctx, tasksOf(jobs, func(j *mlx.Job) (int64, taskFunc) { return j.Bytes, j.Run }), "writing")
}

// runTasks shares tasks out over the cores, with a progress bar. The first error stops them all.
func runTasks(ctx context.Context, tasks []task, what string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var total int64
	for _, t := range tasks {
		total += t.bytes
	}
	bar := newBar(total, what)
	defer bar.close()
	var wg sync.WaitGroup
	next := make(chan task)
	for range min(runtime.GOMAXPROCS(0), len(tasks)) {
		wg.Go(func() {
			for t := range next {
				if err := t.run(ctx, bar.add); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, t := range tasks {
		if ctx.Err() != nil {
			break
		}
		next <- t
	}
	close(next)
	wg.Wait()
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

package actors

import (
	"context"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/metal"
)

// maxSaves is how many snapshots may wait to be written; more are left in memory only, so that a slow disk holds up nobody.
const maxSaves = 8

// disk writes snapshots to the disk tier on a worker of its own.
type disk struct {
	file    *prefix.Disk
	worker  *worker.Worker
	stream  metal.Stream
	log     zerolog.Logger
	ctx     context.Context
	stop    context.CancelFunc
	waiting atomic.Int64
}

func newDisk(file *prefix.Disk, dev metal.Device, log zerolog.Logger) *disk {
	d := &disk{file: file, worker: worker.Start(false), stream: dev.NewStream(), log: log}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// save takes over h.
func (d *disk) save(ids []int32, h *prefix.Handle) {
	if d.waiting.Add(1) > maxSaves {
		d.waiting.Add(-1)
		h.Release()
		return
	}
	done := func() {
		h.Release()
		d.waiting.Add(-1)
	}
	ok := d.worker.Do(worker.Job{
		Run: func() {
			defer done()
			if err := d.file.Save(d.ctx, d.stream, ids, h.Snapshot()); err != nil && d.ctx.Err() == nil {
				d.log.Warn().Err(err).Int("positions", len(ids)).Msg("snapshot not written to disk")
			}
		},
		Broken: func(v any, stack []byte) {
			d.log.Error().Interface("panic", v).Bytes("stack", stack).Msg("snapshot could not be written")
		},
	})
	if !ok {
		done()
	}
}

// close ends a running save and closes the file. What goes wrong is logged: it costs cache and nothing else.
func (d *disk) close() {
	d.stop()
	d.worker.Stop()
	if err := d.file.Close(); err != nil {
		d.log.Warn().Err(err).Msg("disk tier of the prefix cache did not close cleanly")
	}
}

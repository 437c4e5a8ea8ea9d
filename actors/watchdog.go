package actors

import (
	"fmt"
	"time"

	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/model"
)

// stallTicks is how many looks without any movement make a stall.
const stallTicks = 12

// odometer is what moves while a part of the house makes headway: layers of passes and ended jobs. Work that moves, however slowly, is
// never a stall.
type odometer struct {
	running bool
	counts  [8]uint64
}

// stall tells a pass that is stuck from one that is slow. The zero value is ready.
type stall struct {
	last  odometer
	still int // looks at which a job ran and nothing had moved
}

// look takes a reading and reports whether it makes a stall.
func (s *stall) look(now odometer) bool {
	if !now.running || now != s.last {
		s.last, s.still = now, 0
		return false
	}
	s.still++
	return s.still >= stallTicks
}

// watch gives the house up when a pass is stuck: its thread cannot be taken back, so only a new process helps.
func (s *System) watch() {
	tick := time.NewTicker(s.config.Stall / stallTicks)
	defer tick.Stop()
	var w [3]stall
	for {
		select {
		case <-s.over:
			return
		case <-tick.C:
			for i, now := range s.odometers() {
				if w[i].look(now) {
					s.config.Log.Error().Dur("unmoved", s.config.Stall).Interface("counters", w[i].last.counts).Msg("a pass is stuck")
					s.giveUp(fmt.Errorf("a pass has not moved for %v", s.config.Stall))
					return
				}
			}
		}
	}
}

// odometers are that of the whole house and, since others may go on while one of them is stuck, that of each worker of the verifier's.
func (s *System) odometers() [3]odometer {
	g := &s.gear
	trunk := []*model.Pass{g.trunk}
	var beside odometer
	if len(g.halves) > 0 {
		trunk = append(trunk, g.halves[0])
		beside = read(g.beside, g.halves[1])
	}
	judge := read(g.verify, trunk...)
	house := odometer{running: judge.running || beside.running, counts: judge.counts}
	for i, n := range beside.counts {
		house.counts[i] += n
	}
	if g.head != nil {
		house.counts[3], house.counts[4] = g.head.Progress()
	}
	for i, w := range []*worker.Worker{g.draft, g.stage, g.index} {
		house.running = house.running || w.Running()
		house.counts[5+i] = w.Ended()
	}
	return [3]odometer{house, judge, beside}
}

// read is the odometer of a worker that runs passes.
func read(w *worker.Worker, passes ...*model.Pass) (o odometer) {
	o.running = w.Running()
	o.counts[0] = w.Ended()
	for _, p := range passes {
		runs, layers := p.Progress()
		o.counts[1], o.counts[2] = o.counts[1]+runs, o.counts[2]+layers
	}
	return o
}

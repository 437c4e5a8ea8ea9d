package actors

import (
	"fmt"
	"time"

	"github.com/flashlane/flashlane/actors/worker"
)

// stallTicks is how many looks without any movement make a stall.
const stallTicks = 12

// odometer is everything that moves while the house makes headway: layers of passes and ended jobs. Work that moves, however
// slowly, is never a stall.
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
	var w stall
	for {
		select {
		case <-s.over:
			return
		case <-tick.C:
			if w.look(s.odometer()) {
				s.config.Log.Error().Dur("unmoved", s.config.Stall).Interface("counters", w.last.counts).Msg("a pass is stuck")
				s.giveUp(fmt.Errorf("a pass has not moved for %v", s.config.Stall))
				return
			}
		}
	}
}

func (s *System) odometer() odometer {
	g := &s.gear
	var o odometer
	o.counts[0], o.counts[1] = g.trunk.Progress()
	if g.head != nil {
		o.counts[2], o.counts[3] = g.head.Progress()
	}
	for i, w := range []*worker.Worker{g.draft, g.verify, g.stage, g.index} {
		o.running = o.running || w.Running()
		o.counts[4+i] = w.Ended()
	}
	return o
}

package actors

import (
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// need is the device memory that a request of so many positions may come to hold, beyond what the house held when it was
// opened: the caches at their last growth, and its share of everything that passes hold on to for it.
func (s *System) need(positions int, drafts bool) int64 {
	m, chunk := s.config.Model, int64(s.config.Chunk)
	n := m.Shape.Peak(positions)
	// A chunk is staged while the one before it is in its pass; either may be made inline beside the window that failed.
	n += 2*ple.WindowBytes(m.PLE, s.config.Chunk) + 2*ple.WindowBytes(m.PLE, maxRound)
	for _, a := range m.Shape.Attention {
		n += scratchBytes(a.Index, s.config.Chunk)
	}
	rows := int64(1)
	if drafts {
		rows = maxRound
		n += s.config.Head.Peak(positions) + scratchBytes(s.config.Head.CacheShape().Index, s.config.Chunk)
		// Streams wait for the drafter: what may lag, the chunk that it works on, and the one in the trunk's pass.
		n += 3 * min(chunk, int64(positions)) * 4 * int64(m.Config.Width())
	}
	// Rooms grow in powers of two, and the old one is there until the new one is. Rows run now in the whole pass, now in one of its halves.
	passes := int64(1 + min(len(s.gear.halves), 1))
	return n + passes*3*rows*s.gear.trunk.RowBytes()
}

// scratchBytes is where a pass pools the blocks that its rows complete, before and after it has grown.
func scratchBytes(g qsa.Geometry, rows int) int64 {
	return 2 * 4 * int64(g.Dim) * int64(rows/g.Ratio+1)
}

package state

import (
	"errors"
	"fmt"

	"github.com/flashlane/flashlane/metal"
)

// firstPositions is the room a cache gets at its first growth, unless more is asked for.
const firstPositions = 256

// reserve enlarges all caches to room for need positions, at least doubling so that growth costs a constant per
// position; it never goes past limit. Where the doubled size does not fit, the exact size is tried. used rows are
// copied on st. On an error nothing has changed.
func reserve(dev metal.Device, st metal.Stream, caches []*Attention, used, need, limit int) error {
	if len(caches) == 0 || need <= caches[0].Cap {
		return nil
	}
	if need > limit {
		return fmt.Errorf("state: reserve: got %d positions, want at most %d (the context)", need, limit)
	}
	want := min(max(need, 2*caches[0].Cap, firstPositions), limit)
	err := grow(dev, st, caches, used, want)
	if errors.Is(err, metal.ErrMemory) && want > need {
		err = grow(dev, st, caches, used, need)
	}
	if err != nil {
		return fmt.Errorf("state: reserve %d positions: %w", need, err)
	}
	return nil
}

func grow(dev metal.Device, st metal.Stream, caches []*Attention, used, positions int) error {
	fresh := make([]grown, 0, len(caches))
	drop := func() {
		for _, g := range fresh {
			g.free()
		}
	}
	for _, c := range caches {
		g, err := c.alloc(dev, positions)
		if err != nil {
			drop()
			return err
		}
		fresh = append(fresh, g)
	}
	for i, c := range caches {
		c.adopt(st, fresh[i], used)
	}
	for _, c := range caches {
		if err := c.Bank.Grow(st, c.Index.Complete(positions)); err != nil {
			drop() // banks grown so far keep their spare room: their content is what it was
			return fmt.Errorf("bank of layer %d: %w", c.Layer, err)
		}
	}
	if err := st.Sync(); err != nil { // the old buffers are freed next
		drop()
		return err
	}
	for i, c := range caches {
		c.install(fresh[i], positions)
	}
	return nil
}

// Peak is the most a sequence of so many positions ever holds on the device while its trunk caches grow towards them: at
// the last growth the old and the new caches are there side by side. It is what admission reserves.
func (s *Shape) Peak(positions int) int64 {
	old, room := lastGrowth(positions, s.Positions)
	return s.Bytes(room) + s.Bytes(old) - s.Bytes(0)
}

// Peak is the same for the caches of one attention layer alone, of a sequence that holds at most limit positions.
func (a AttentionShape) Peak(positions, limit int) int64 {
	old, room := lastGrowth(positions, limit)
	return a.Bytes(room) + a.Bytes(old)
}

// lastGrowth is the room for positions before and after the last growth on the way to so many positions.
func lastGrowth(positions, limit int) (before, after int) {
	positions = min(positions, limit)
	after = firstPositions
	for after < positions {
		before, after = after, 2*after
	}
	return before, min(after, limit)
}

package prefix

import (
	"sync"

	"github.com/flashlane/flashlane/engine/state"
)

// Handle is a use of a snapshot: while it is held the tree does not evict it. It is for one goroutine at a time.
type Handle struct {
	tree  *Tree
	entry *entry
	snap  *state.Snapshot
	once  sync.Once
}

// Snapshot is what the handle is on. It is valid until Release; who needs it longer retains it.
func (h *Handle) Snapshot() *state.Snapshot {
	if h == nil {
		return nil
	}
	return h.snap
}

// Release ends the use. It may be called more than once, and on nil.
func (h *Handle) Release() {
	if h == nil {
		return
	}
	h.once.Do(func() {
		h.tree.mu.Lock()
		h.entry.uses--
		h.tree.mu.Unlock()
		h.snap.Release()
	})
}

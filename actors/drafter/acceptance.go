package drafter

import (
	"sync"

	"github.com/flashlane/flashlane/engine/verify"
)

// Acceptance counts the fate of drafts by depth for the whole house. It is safe for concurrent use and outlives the actor.
type Acceptance struct {
	mu    sync.Mutex
	stats verify.Stats
}

// Add counts one round.
func (a *Acceptance) Add(drafted int, r verify.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Observe(drafted, r)
}

// Stats is a copy of the counts.
func (a *Acceptance) Stats() verify.Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

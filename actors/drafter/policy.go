package drafter

import (
	"sync"
	"sync/atomic"

	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/engine/verify"
)

// Policy chooses the depth of a batch by measured cost (verify.Depths), or always gives what was asked for. It is safe
// for concurrent use and outlives the actor.
type Policy struct {
	fixed bool

	mu      sync.Mutex
	depths  *verify.Depths
	chosen  [MaxDepth + 1]int64 // batches by depth
	stopped atomic.Int64        // sequences that stopped drafting because they put off too much
}

// MaxDepth is the most drafts a round may have.
const MaxDepth = verify.MaxDepth

// NewPolicy returns a policy; fixed gives every batch the depth it asks for.
func NewPolicy(fixed bool) *Policy {
	return &Policy{fixed: fixed, depths: verify.NewDepths(MaxDepth)}
}

func (p *Policy) choose(n, limit int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	depth := limit
	if !p.fixed {
		depth = p.depths.Choose(n, limit)
	}
	p.chosen[min(max(depth, 0), MaxDepth)]++
	return depth
}

func (p *Policy) observe(m verifier.Committed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.depths.Accepted(m.Drafted, m.Result)
	if m.Lead {
		p.depths.Observe(m.Width, m.Drafted, int64(m.Times.Draft+m.Times.Verify))
	}
}

// Chosen is how many batches got each depth, from 0.
func (p *Policy) Chosen() [MaxDepth + 1]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chosen
}

// Stopped is how many sequences stopped drafting for good because they had put off more than a chunk of rows.
func (p *Policy) Stopped() int64 { return p.stopped.Load() }

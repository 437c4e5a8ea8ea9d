package prefix

import (
	"fmt"

	"github.com/flashlane/flashlane/engine/state"
	"github.com/flashlane/flashlane/metal"
)

var _ state.Account = (*Tree)(nil)

// Take books bytes for a snapshot that is about to be made, evicting what nobody uses until they fit. The error wraps
// metal.ErrMemory and tells the numbers; then nothing is booked, though snapshots may have been evicted.
func (t *Tree) Take(bytes int64) error {
	if limit := t.limit.Load(); bytes > limit { // evicting all would not help
		t.refuse()
		return t.full(bytes, limit, nil)
	}
	for {
		err := t.book(bytes)
		if err == nil {
			return nil
		}
		if !t.evict() {
			t.refuse()
			return err
		}
	}
}

// book books bytes if they fit as things are.
func (t *Tree) book(bytes int64) error {
	limit := t.limit.Load()
	for {
		used := t.used.Load()
		if used+bytes > limit {
			return t.full(bytes, limit, nil)
		}
		if t.used.CompareAndSwap(used, used+bytes) {
			break
		}
	}
	if t.outer == nil {
		return nil
	}
	if err := t.outer.Take(bytes); err != nil {
		t.used.Add(-bytes)
		return t.full(bytes, limit, err)
	}
	return nil
}

func (t *Tree) full(bytes, limit int64, why error) error {
	if why != nil {
		return fmt.Errorf("prefix: got %d bytes more to keep: %w", bytes, why)
	}
	return fmt.Errorf("prefix: %w: got %d bytes more to keep on top of %d, want at most %d together; nothing is left that could be evicted",
		metal.ErrMemory, bytes, t.used.Load(), limit)
}

func (t *Tree) refuse() {
	t.mu.Lock()
	t.stats.Refused++
	t.mu.Unlock()
}

// Give takes bytes off the books.
func (t *Tree) Give(bytes int64) {
	t.used.Add(-bytes)
	if t.outer != nil && bytes != 0 {
		t.outer.Give(bytes)
	}
}

// evict drops the least recently used snapshot that nobody uses; false if there is none. Memory that other snapshots stand
// on stays, so one call may free less than the snapshot held.
func (t *Tree) evict() bool {
	t.mu.Lock()
	var victim *entry
	for p := t.recent.Back(); p != nil; p = p.Prev() {
		if e := p.Value.(*entry); e.uses == 0 {
			victim = e
			break
		}
	}
	if victim == nil {
		t.mu.Unlock()
		return false
	}
	keys := t.remove(victim)
	t.stats.Evictions++
	t.mu.Unlock()
	t.Give(keys)
	victim.snap.Release()
	return true
}

// Evict frees at least so many bytes, if unused snapshots hold as much, and returns how many it freed: for when memory is
// wanted elsewhere.
func (t *Tree) Evict(bytes int64) int64 {
	before := t.used.Load()
	for before-t.used.Load() < bytes && t.evict() {
	}
	return max(0, before-t.used.Load())
}

// SetLimit changes the limit and evicts what is over it. What is in use stays until it is released and something new is
// taken.
func (t *Tree) SetLimit(bytes int64) {
	t.limit.Store(bytes)
	for t.used.Load() > bytes && t.evict() {
	}
}

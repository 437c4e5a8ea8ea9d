package prefix

// Stats is a tree's counters, which only grow, and its sizes.
type Stats struct {
	Hits       int64 `json:"hits"`       // lookups that found a snapshot
	Misses     int64 `json:"misses"`     // lookups that found none
	Asked      int64 `json:"asked"`      // tokens of all lookups
	Reused     int64 `json:"reused"`     // tokens that the found snapshots stood for
	Inserts    int64 `json:"inserts"`    // snapshots that came in
	Duplicates int64 `json:"duplicates"` // snapshots whose place was taken
	Upgrades   int64 `json:"upgrades"`   // snapshots that took the place of one that cannot draft
	Evictions  int64 `json:"evictions"`
	Refused    int64 `json:"refused"` // snapshots, or their keys, that did not fit

	Entries int   `json:"entries"` // snapshots in the tree
	InUse   int   `json:"in_use"`  // of them, those with handles out
	Tokens  int   `json:"tokens"`  // in all keys, shared ones once
	Bytes   int64 `json:"bytes"`   // booked: snapshots, also evicted ones still in use, and keys
	Limit   int64 `json:"limit"`
}

// Stats is a consistent copy of the counters.
func (t *Tree) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Entries, s.Tokens = t.recent.Len(), t.keys.tokens
	for p := t.recent.Front(); p != nil; p = p.Next() {
		if p.Value.(*entry).uses > 0 {
			s.InUse++
		}
	}
	s.Bytes, s.Limit = t.used.Load(), t.limit.Load()
	return s
}

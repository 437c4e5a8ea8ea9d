package prefix

// Parent is the longest snapshot of a prefix of ids, for who is about to take one of ids and wants to share its rows. It
// counts neither as hit nor as miss; nil when there is none. The caller releases the handle.
func (t *Tree) Parent(ids []int32, w Want) *Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	var best *entry
	t.keys.walk(ids, func(n *node[*entry]) {
		for _, e := range n.items {
			if w.serves(t, e, n.depth) {
				best = e
			}
		}
	})
	if best == nil {
		return nil
	}
	return t.handle(best)
}

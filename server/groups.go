package server

import "sync"

// groups knows the answers being given and the requests behind each, so that the id of one with several choices cancels
// all of them.
type groups struct {
	mu   sync.Mutex
	live map[string][]string
}

// add enters a job; the function returned takes it out again.
func (g *groups) add(j *job) (remove func()) {
	ids := make([]string, len(j.choices))
	for i, q := range j.choices {
		ids[i] = q.ID
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live = map[string][]string{}
	}
	g.live[j.id] = ids
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.live, j.id)
	}
}

// count is how many answers are being given.
func (g *groups) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

// members lists the requests behind an id, which is its own only member if it is no group's.
func (g *groups) members(id string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ids, ok := g.live[id]; ok {
		return ids
	}
	return []string{id}
}

package server

import (
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// clientRequestID is the header by which a client names its request before it has an answer, as OpenAI's API has it.
const clientRequestID = "X-Client-Request-Id"

// alias is a client's name for a request. Names may repeat, and another key's are its own.
type alias struct{ key, name string }

// aliasOf reads it, with an empty name if there is none.
func aliasOf(c echo.Context) (alias, error) {
	name := c.Request().Header.Get(clientRequestID)
	if len(name) > 512 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
		return alias{}, refuse(400, typeInvalid, "invalid_value", "", "the header %s must be at most 512 printable ASCII characters", clientRequestID)
	}
	key, _ := c.Get(keyNameKey).(string)
	return alias{key, name}, nil
}

// groups knows the answers being given and the requests behind each, so that the id of one with several choices cancels
// all of them, and so does the name that its client gave it, queued or not.
type groups struct {
	mu    sync.Mutex
	live  map[string][]string       // by our id
	named map[alias]map[string]bool // our ids by alias
}

// add enters a job; the function returned takes it out again.
func (g *groups) add(j *job, a alias) (remove func()) {
	ids := make([]string, len(j.choices))
	for i, q := range j.choices {
		ids[i] = q.ID
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live, g.named = map[string][]string{}, map[alias]map[string]bool{}
	}
	g.live[j.id] = ids
	if a.name != "" {
		if g.named[a] == nil {
			g.named[a] = map[string]bool{}
		}
		g.named[a][j.id] = true
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.live, j.id)
		if delete(g.named[a], j.id); len(g.named[a]) == 0 {
			delete(g.named, a)
		}
	}
}

// count is how many answers are being given.
func (g *groups) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

// members lists the requests behind an id or, if it is none of a group, behind a's name; else the id is its own only member.
func (g *groups) members(a alias) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ids, ok := g.live[a.name]; ok {
		return ids
	}
	var ids []string
	for id := range g.named[a] {
		ids = append(ids, g.live[id]...)
	}
	if ids == nil {
		return []string{a.name}
	}
	return ids
}

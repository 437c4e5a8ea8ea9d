package grammar

import (
	"fmt"
	"sync"
)

// Bounds of a Bound's caches. Reaching one empties that cache.
const (
	cacheBytes = 24 << 20 // of masks by state
	cacheTails = 512      // of tokens that leave a state, by state and what lies below
)

// Bound is a grammar together with a vocabulary and stop ids. It caches masks, so keep it for as long as requests with the same schema may come.
// Safe for concurrent use; one mask at a time is computed.
type Bound struct {
	g     *Grammar
	v     *Vocab
	tags  []int32 // id of each tag's added token, -1: spelled
	stop  []int32
	reach uint32
	opens uint8

	mu     sync.Mutex
	states map[local]*stateMask
	bytes  int
	tails  map[tailKey][]int32
	walker walker
}

// Bind joins a grammar to v. stop are the ids that end the text: at least one below the vocabulary's size.
func (v *Vocab) Bind(g *Grammar, stop []int32) (*Bound, error) {
	b := &Bound{g: g, v: v, stop: stop, states: map[local]*stateMask{}, tails: map[tailKey][]int32{}}
	for _, id := range stop {
		if id < 0 || int(id) >= v.size {
			return nil, fmt.Errorf("grammar: %w: stop id %d, want 0 to %d", ErrVocab, id, v.size-1)
		}
		if int(id) < len(v.pieces) && v.pieces[id] != nil {
			return nil, fmt.Errorf("grammar: %w: stop id %d is an ordinary token; an added token is needed to end a text", ErrVocab, id)
		}
	}
	if len(stop) == 0 {
		return nil, fmt.Errorf("grammar: %w: no stop id, so no text could end", ErrVocab)
	}
	for _, name := range g.tags {
		id, ok := v.tokens.ID(name)
		if !ok || !v.tokens.Added(id) || int(id) >= v.size {
			id = -1
		}
		b.tags = append(b.tags, id)
	}
	// Beyond these, no token can tell counts and depths apart.
	b.reach = v.reach + 32
	tallest := uint8(0)
	for i := range g.nodes {
		if h := g.nodes[i].height; h != never {
			tallest = max(tallest, h)
		}
	}
	b.opens = uint8(min(int(v.opens)+int(tallest)+1, LimitMaxDepth+1))
	b.walker = walker{stepper: stepper{g: g, bound: b.tags}, v: v}
	return b, nil
}

// Grammar returns what was bound.
func (b *Bound) Grammar() *Grammar { return b.g }

// Start returns a matcher at the beginning of the text.
func (b *Bound) Start() *Matcher {
	m := b.g.Start()
	m.b = b
	return m
}

package tokenizer

import (
	"hash/maphash"
	"strings"
	"sync"
)

const (
	cacheShards  = 16
	cacheEntries = 2048 // per generation and shard
	cacheWord    = 64   // longer words are rare and not worth their memory
)

// cache remembers the ids of recent words. Each shard has two generations: when the young one is full it becomes the old one and
// the old one is dropped, so memory is bounded and words in use survive. Safe for concurrent use.
type cache struct {
	seed   maphash.Seed
	shards [cacheShards]struct {
		sync.RWMutex
		young, old map[string][]int32
	}
}

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

// get gives the ids of a word; the caller must not change them.
func (c *cache) get(word string) ([]int32, bool) {
	if len(word) > cacheWord {
		return nil, false
	}
	s := &c.shards[maphash.String(c.seed, word)%cacheShards]
	s.RLock()
	ids, ok := s.young[word]
	if ok {
		s.RUnlock()
		return ids, true
	}
	ids, ok = s.old[word]
	s.RUnlock()
	if ok {
		c.put(word, ids)
	}
	return ids, ok
}

// put keeps a copy of word and ids.
func (c *cache) put(word string, ids []int32) {
	if len(word) > cacheWord {
		return
	}
	s := &c.shards[maphash.String(c.seed, word)%cacheShards]
	s.Lock()
	defer s.Unlock()
	if len(s.young) >= cacheEntries {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = make(map[string][]int32)
	}
	// The word is a slice of a whole prompt: a clone lets the prompt go.
	s.young[strings.Clone(word)] = append([]int32(nil), ids...)
}

// entries counts what is held, for tests.
func (c *cache) entries() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.RLock()
		n += len(s.young) + len(s.old)
		s.RUnlock()
	}
	return n
}

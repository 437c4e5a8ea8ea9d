package ple

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Cache is an LRU of exact rows over one table, shared by every request of a model. Its methods are safe for concurrent
// use: the lock is held to copy and to link records, never while rows are read.
//
// A gather has the order semantics of one caller that takes the sorted set of its ids, reads all that are missing, makes
// every id the newest in ascending order, and then drops the oldest rows down to the limit.
type Cache struct {
	table *Table
	opts  CacheOptions
	limit int64

	mu  sync.Mutex
	lru *lru

	trouble atomic.Pointer[trouble] // the last read that failed; nil: none, or it can be read again

	stats struct {
		hits, misses, direct, bytes, cold, evictions, wait, errors atomic.Int64
	}
}

// CacheOptions of a cache. The zero value takes the defaults.
type CacheOptions struct {
	// Bulk is the number of ids from which a gather goes past the LRU: a long prompt would only flush it.
	// 0 means DefaultBulk.
	Bulk int
	// Readers is the most goroutines a gather may spread its missing rows over, when they lie in a file and are many.
	// Rows in mapped memory are always read inline: handing warm rows to other goroutines costs far more than
	// copying them. 0 means DefaultReaders.
	Readers int
	// SlowRow is how long a row from a mapped file may take before it is thought to have come from disk. 0 means
	// DefaultSlowRow.
	SlowRow time.Duration
}

// Defaults of CacheOptions, and how many missing rows a reader goroutine must have to be worth its start.
const (
	DefaultBulk    = 1024
	DefaultReaders = 8
	rowsPerReader  = 8
	// Minor faults in all three planes of a row take a few microseconds, a fast disk twice as long as this.
	DefaultSlowRow = 10 * time.Microsecond
)

// Stats are a cache's counters since it was made, in rows unless said otherwise.
type Stats struct {
	Hits      int64 // unique rows found
	Misses    int64 // unique rows read and kept
	Direct    int64 // rows read past the LRU (bulk gathers, NoCache)
	Bytes     int64 // bytes read from the table
	Cold      int64 // reads that had to wait for a disk, up to three a row; counted where the file can tell
	Evictions int64 // rows dropped
	Errors    int64 // gathers that failed
	WaitNanos int64 // time gathers spent reading
	Rows      int64 // rows now held
	Held      int64 // bytes now held
	Limit     int64 // byte limit
}

// Plus is the sum of two caches' counters.
func (a Stats) Plus(b Stats) Stats {
	return Stats{Hits: a.Hits + b.Hits, Misses: a.Misses + b.Misses, Direct: a.Direct + b.Direct, Bytes: a.Bytes + b.Bytes, Cold: a.Cold + b.Cold,
		Evictions: a.Evictions + b.Evictions, Errors: a.Errors + b.Errors, WaitNanos: a.WaitNanos + b.WaitNanos,
		Rows: a.Rows + b.Rows, Held: a.Held + b.Held, Limit: a.Limit + b.Limit}
}

// NewCache makes an empty cache that holds about limit bytes, records and bookkeeping together (Most is the bound: slabs are whole, and slices grow by a quarter). A limit below one row
// (0 too) keeps nothing: every row is read each time. A negative limit is an error.
func NewCache(t *Table, limit int64, o CacheOptions) (*Cache, error) {
	if limit < 0 {
		return nil, fmt.Errorf("ple: cache limit: got %d bytes, want 0 or more", limit)
	}
	if o.Bulk < 0 || o.Readers < 0 || o.SlowRow < 0 {
		return nil, fmt.Errorf("ple: cache options: got bulk %d, readers %d, slow row %v, want 0 (default) or more", o.Bulk, o.Readers, o.SlowRow)
	}
	if o.Bulk == 0 {
		o.Bulk = DefaultBulk
	}
	if o.Readers == 0 {
		o.Readers = DefaultReaders
	}
	if o.SlowRow == 0 {
		o.SlowRow = DefaultSlowRow
	}
	rows := min(limit/int64(t.RowBytes()+rowOverhead), t.Rows(), math.MaxInt32-1)
	return &Cache{table: t, opts: o, limit: limit, lru: newLRU(t.RowBytes(), int(rows))}, nil
}

// Table is what the cache reads from.
func (c *Cache) Table() *Table { return c.table }

// Capacity is the number of rows the cache may hold.
func (c *Cache) Capacity() int { return c.lru.max }

// Most is the most bytes the cache may come to hold.
func (c *Cache) Most() int64 { return c.lru.most() }

// Stats reads the counters. They are read one by one: under load they may be a gather apart.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	rows, held := int64(c.lru.len()), c.lru.bytes()
	c.mu.Unlock()
	return Stats{
		Hits:      c.stats.hits.Load(),
		Misses:    c.stats.misses.Load(),
		Direct:    c.stats.direct.Load(),
		Bytes:     c.stats.bytes.Load(),
		Cold:      c.stats.cold.Load(),
		Evictions: c.stats.evictions.Load(),
		Errors:    c.stats.errors.Load(),
		WaitNanos: c.stats.wait.Load(),
		Rows:      rows,
		Held:      held,
		Limit:     c.limit,
	}
}

// Order lists the rows held, oldest first.
func (c *Cache) Order() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]int64, 0, c.lru.len())
	for n := c.lru.oldest; n != none; n = c.lru.nodes[n].newer {
		ids = append(ids, c.lru.nodes[n].id)
	}
	return ids
}

package ple

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Scratch is the working memory of gathers, for one goroutine at a time. The zero value is ready.
type Scratch struct {
	slots []slot     // one per id, ascending
	rows  []wanted   // one per unique id, ascending
	miss  []int32    // indexes into rows
	cold  []coldPart // what of them must come from disk
}

// slot is one id and its place in the result, packed so that plain integers sort by id, then by place.
type slot uint64

const placeBits = 64 - rowBits

func (s slot) id() int64 { return int64(s >> placeBits) }
func (s slot) at() int32 { return int32(s & (1<<placeBits - 1)) }

// wanted is one unique row of a gather. at is the first place it goes to.
type wanted struct {
	id   int64
	at   int32
	node int32 // where the LRU had it, or none
}

// Gather copies the records of ids to dst [len(ids), RowBytes] through the LRU (or past it, from Bulk ids on). An id may
// appear many times; a missing row is read once. When a read fails, or ctx ends between reads, the error is returned, dst
// is undefined and the cache is as if the gather had not been. Two gathers at once that miss the same row may both read it.
func (c *Cache) Gather(ctx context.Context, s *Scratch, dst []byte, ids []int64) error {
	if len(ids) >= c.opts.Bulk || c.lru.max == 0 {
		return c.Direct(ctx, s, dst, ids)
	}
	if err := c.admit(dst, ids); err != nil {
		return err
	}
	s.sort(ids)
	c.copyHits(s, dst)
	if len(s.miss) > 0 {
		if err := c.read(ctx, s, dst); err != nil {
			return err
		}
	}
	c.keep(s, dst)
	c.spread(s, dst)
	return nil
}

// Direct is Gather past the LRU: every unique row is read from the table and none is kept.
func (c *Cache) Direct(ctx context.Context, s *Scratch, dst []byte, ids []int64) error {
	if err := c.admit(dst, ids); err != nil {
		return err
	}
	c.stats.direct.Add(int64(len(ids)))
	if c.table.mapped && !c.table.faults {
		// Sorting costs more than copying a row twice.
		return c.readMapped(ctx, dst, ids)
	}
	s.sort(ids)
	s.miss = s.miss[:0]
	for i := range s.rows {
		s.miss = append(s.miss, int32(i))
	}
	if err := c.read(ctx, s, dst); err != nil {
		return err
	}
	c.spread(s, dst)
	return nil
}

// admit checks sizes and ids before anything is read.
func (c *Cache) admit(dst []byte, ids []int64) error {
	if len(dst) != len(ids)*c.table.RowBytes() || len(ids) >= 1<<placeBits {
		panic(fmt.Sprintf("ple: gather: got room for %d bytes, want %d rows of %d", len(dst), len(ids), c.table.RowBytes()))
	}
	for _, id := range ids {
		if id < 0 || id >= c.table.spec.Rows {
			return c.fail(c.table.outside(id))
		}
	}
	return nil
}

// sort fills slots and rows from ids, which are in range.
func (s *Scratch) sort(ids []int64) {
	s.slots, s.rows = s.slots[:0], s.rows[:0]
	for i, id := range ids {
		s.slots = append(s.slots, slot(id)<<placeBits|slot(i))
	}
	slices.Sort(s.slots)
	for i, sl := range s.slots {
		if i == 0 || sl.id() != s.slots[i-1].id() {
			s.rows = append(s.rows, wanted{id: sl.id(), at: sl.at(), node: none})
		}
	}
}

// record is place i of dst.
func (c *Cache) record(dst []byte, i int32) []byte {
	n := c.table.RowBytes()
	return dst[int(i)*n : (int(i)+1)*n]
}

// copyHits copies the rows the LRU has and lists the others. Order is left alone until keep.
func (c *Cache) copyHits(s *Scratch, dst []byte) {
	s.miss = s.miss[:0]
	c.mu.Lock()
	for i := range s.rows {
		w := &s.rows[i]
		if w.node = c.lru.find(w.id); w.node == none {
			s.miss = append(s.miss, int32(i))
			continue
		}
		copy(c.record(dst, w.at), c.lru.data(w.node))
	}
	c.mu.Unlock()
}

// keep replays the gather on the LRU: each unique row in ascending order becomes the newest, put in if it is not there.
// Dropping the oldest at each step leaves the same rows in the same order as dropping them all at the end: both keep the
// newest ones.
func (c *Cache) keep(s *Scratch, dst []byte) {
	c.mu.Lock()
	l := c.lru
	before, added := l.len(), 0
	for i := range s.rows {
		w := &s.rows[i]
		if w.node == none || l.nodes[w.node].id != w.id {
			w.node = l.find(w.id) // another gather may have put it in, or dropped it, meanwhile
		}
		if w.node == none {
			added++
		}
	}
	for i := range s.rows {
		w := &s.rows[i]
		// The id is compared again: a put of this very loop may have dropped the row.
		if w.node != none && l.nodes[w.node].id == w.id {
			l.touch(w.node)
			continue
		}
		l.put(w.id, c.record(dst, w.at))
	}
	dropped := before + added - l.len()
	c.mu.Unlock()
	c.stats.evictions.Add(int64(dropped))
	c.stats.misses.Add(int64(len(s.miss)))
	c.stats.hits.Add(int64(len(s.rows) - len(s.miss)))
}

// spread copies each row from its first place to its other ones.
func (c *Cache) spread(s *Scratch, dst []byte) {
	var first int32
	for i, sl := range s.slots {
		if i == 0 || sl.id() != s.slots[i-1].id() {
			first = sl.at()
			continue
		}
		copy(c.record(dst, sl.at()), c.record(dst, first))
	}
}

// readMapped copies rows that lie in memory.
func (c *Cache) readMapped(ctx context.Context, dst []byte, ids []int64) error {
	start := time.Now()
	defer func() { c.stats.wait.Add(int64(time.Since(start))) }()
	for i, id := range ids {
		if i%256 == 0 && ctx.Err() != nil {
			return c.fail(context.Cause(ctx))
		}
		if err := c.table.Read(c.record(dst, int32(i)), id); err != nil {
			return c.fail(err)
		}
	}
	c.stats.bytes.Add(int64(len(dst)))
	return nil
}

// read reads the missing rows and leaves no read under way, even when one fails.
func (c *Cache) read(ctx context.Context, s *Scratch, dst []byte) error {
	start := time.Now()
	defer func() { c.stats.wait.Add(int64(time.Since(start))) }()
	if err := c.readMissing(ctx, s, dst); err != nil {
		return c.fail(err)
	}
	if err := c.table.intact(); err != nil {
		return c.fail(err)
	}
	c.stats.bytes.Add(int64(len(s.miss)) * int64(c.table.RowBytes()))
	return nil
}

// readMissing picks the way: memory and few rows inline; a mapping as long as its rows are warm; a file that can tell cold
// rows ahead; any other file over a few goroutines.
func (c *Cache) readMissing(ctx context.Context, s *Scratch, dst []byte) error {
	t := c.table
	if t.ahead != nil && !t.blind.Load() {
		read := c.readAhead
		if t.faults {
			read = c.readMapping
		}
		err := read(ctx, s, s.miss, dst)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		t.blind.Store(true)
	}
	readers := min(c.opts.Readers, len(s.miss)/rowsPerReader)
	if !t.mapped && readers > 1 {
		return c.readWide(ctx, s, dst, readers)
	}
	for _, i := range s.miss {
		if err := c.readRow(ctx, &s.rows[i], dst); err != nil {
			return err
		}
	}
	return nil
}

// readWide spreads the missing rows over goroutines, so that a cold disk sees more than one read at a time. The error of
// the lowest row is returned, whichever came first.
func (c *Cache) readWide(ctx context.Context, s *Scratch, dst []byte, readers int) error {
	var next atomic.Int32
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	at := int32(len(s.miss))
	for range readers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int32(len(s.miss)) {
					return
				}
				if err := c.readRow(ctx, &s.rows[s.miss[i]], dst); err != nil {
					mu.Lock()
					if i < at {
						at, failed = i, err
					}
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return failed
}

func (c *Cache) readRow(ctx context.Context, w *wanted, dst []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.table.Read(c.record(dst, w.at), w.id)
}

// fail counts a failed gather. A caller that left is no fault of the table.
func (c *Cache) fail(err error) error {
	if errors.Is(err, ErrRead) {
		c.stats.errors.Add(1)
		c.note(err)
	}
	return err
}

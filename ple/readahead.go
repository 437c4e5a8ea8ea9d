package ple

import (
	"context"
	"fmt"
	"time"
)

// aheadRows is how many rows may be asked for before they are waited for. Their pages (three for a quantised row) must
// outlive the wait, and a disk is busy with far fewer.
const aheadRows = 1024

// coldPart is the part of a missing row, in one plane, that was not in memory.
type coldPart struct {
	row   int32 // index into Scratch.rows
	plane int8
}

// probeRows are asked about one by one after a slow row, before the mapping is given up: something else may have been slow.
const probeRows = 4

// readMapping copies rows from the mapping while they are warm, which is by far the cheapest. A row on disk would wait in a
// fault, one at a time and on a processor of the scheduler's; so the first that was slow has the rest read ahead.
func (c *Cache) readMapping(ctx context.Context, s *Scratch, miss []int32, dst []byte) error {
	last := time.Now()
	for i := 0; i < len(miss); {
		if err := c.readRow(ctx, &s.rows[miss[i]], dst); err != nil {
			return err
		}
		i++
		now := time.Now()
		slow := now.Sub(last) > c.opts.SlowRow
		if last = now; !slow {
			continue
		}
		probe := miss[i:min(i+probeRows, len(miss))]
		cold, err := c.ask(s, probe, dst)
		if err != nil {
			return err
		}
		if cold > 0 {
			return c.readAhead(ctx, s, miss[i:], dst)
		}
		i += len(probe)
		last = time.Now()
	}
	return nil
}

// readAhead reads missing rows on this goroutine with all cold parts under way at once.
func (c *Cache) readAhead(ctx context.Context, s *Scratch, miss []int32, dst []byte) error {
	for from := 0; from < len(miss); from += aheadRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		cold, err := c.ask(s, miss[from:min(from+aheadRows, len(miss))], dst)
		if err != nil {
			return err
		}
		c.stats.cold.Add(int64(cold))
		for _, x := range s.cold {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w := &s.rows[x.row]
			if err := c.table.readPart(c.record(dst, w.at), w.id, int(x.plane)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask walks plane by plane, rows ascending, so that offsets only grow: parts in memory are copied, the others are asked for
// and listed in s.cold.
func (c *Cache) ask(s *Scratch, miss []int32, dst []byte) (cold int, err error) {
	s.cold = s.cold[:0]
	for plane, n := range c.table.PlaneBytes() {
		if n == 0 {
			continue
		}
		for _, i := range miss {
			f, off, to := c.table.part(c.record(dst, s.rows[i].at), s.rows[i].id, plane)
			ok, err := f.ReadNow(to, off)
			if err != nil {
				return 0, err
			}
			if !ok {
				f.Fetch(off, n)
				s.cold = append(s.cold, coldPart{row: i, plane: int8(plane)})
			}
		}
	}
	return len(s.cold), nil
}

// part is where the part of a row in one plane is read from, and its place in the row's record. The row is in range.
func (t *Table) part(record []byte, row int64, plane int) (f Ahead, off int64, to []byte) {
	shard, at := row/t.each, row%t.each
	n, skip := t.weight, 0
	if plane > 0 {
		n, skip = t.side, t.weight+(plane-1)*t.side
	}
	return t.ahead[shard][plane], t.spec.Shards[shard].planes()[plane].Off + at*int64(n), record[skip : skip+n]
}

// readPart reads the part of a row in one plane, however long that takes.
func (t *Table) readPart(record []byte, row int64, plane int) error {
	f, off, to := t.part(record, row, plane)
	if err := ReadFull(f, to, off); err != nil {
		return t.failed(row, fmt.Errorf("%s: %w", planeNames[plane], err))
	}
	return nil
}

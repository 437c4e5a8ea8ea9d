package ple

import (
	"context"
	"fmt"
)

// aheadRows is how many rows may be asked for before they are waited for. Their pages (three for a quantised row) must
// outlive the wait, and a disk is busy with far fewer.
const aheadRows = 1024

// cold is the part of a missing row, in one plane, that was not in memory.
type cold struct {
	miss  int32 // index into Scratch.rows
	plane int8
}

// readAhead reads the missing rows on this goroutine with all cold parts under way at once. It walks plane by plane, rows
// ascending, so that offsets only grow: parts in memory are copied, the others asked for, and then these are waited for.
func (c *Cache) readAhead(ctx context.Context, s *Scratch, dst []byte) error {
	for from := 0; from < len(s.miss); from += aheadRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := s.miss[from:min(from+aheadRows, len(s.miss))]
		s.cold = s.cold[:0]
		for plane, n := range c.table.PlaneBytes() {
			if n == 0 {
				continue
			}
			for _, i := range part {
				f, off, to := c.table.part(c.record(dst, s.rows[i].at), s.rows[i].id, plane)
				ok, err := f.ReadNow(to, off)
				if err != nil {
					return err
				}
				if !ok {
					f.Fetch(off, n)
					s.cold = append(s.cold, cold{miss: i, plane: int8(plane)})
				}
			}
		}
		c.stats.cold.Add(int64(len(s.cold)))
		for _, x := range s.cold {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w := &s.rows[x.miss]
			if err := c.table.readPart(c.record(dst, w.at), w.id, int(x.plane)); err != nil {
				return err
			}
		}
	}
	return nil
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
	if err := readFull(f, to, off); err != nil {
		return fmt.Errorf("%w: %s: row %d: %s: %w", ErrRead, t.spec.Name, row, planeNames[plane], err)
	}
	return nil
}

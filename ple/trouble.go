package ple

import (
	"errors"
	"sync/atomic"
)

// trouble is a read that failed, for as long as it would fail again.
type trouble struct {
	err  *ReadError
	busy atomic.Bool // it is being tried again
}

// note keeps what a read failed with, if it is the table that is at fault.
func (c *Cache) note(err error) {
	if read := (*ReadError)(nil); errors.As(err, &read) {
		c.trouble.Store(&trouble{err: read})
	}
}

// Trouble is what the last read that failed failed with, a *ReadError, until the same row can be read again; nil if there is
// nothing wrong. It answers at once: the row is tried beside it, for who asks next.
func (c *Cache) Trouble() error {
	t := c.trouble.Load()
	if t == nil {
		return nil
	}
	if t.busy.CompareAndSwap(false, true) {
		go func() {
			if c.table.again(t.err.Row) == nil {
				c.trouble.CompareAndSwap(t, nil)
			}
			t.busy.Store(false)
		}()
	}
	return t.err
}

// again tries a row that could not be read; where none is certain, the last one.
func (t *Table) again(row int64) error {
	if row < 0 {
		row = t.spec.Rows - 1
	}
	if err := t.Read(make([]byte, t.RowBytes()), row); err != nil {
		return err
	}
	return t.intact()
}
